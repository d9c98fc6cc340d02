-- Emberdice in Tabletop Simulator: paste into the Global script, fill in the three lines, type in the chat
--   !roll 4 hard    !draw Zoé    !cards Zoé    !timers Zoé
-- The host's computer asks for all players. Words and names may be typed in English or French, with or without accents.
local service = "https://dice.example"
local session = "SESSION"
local token = "TOKEN" -- a chat token

local OPTIONS = {
    roll = {"base", "difficulty"},
    draw = {"character"},
    cards = {"character"},
    timers = {"character"}
}
local asked = 0

local function encoded(text)
    return (text:gsub("[^%w%-_.~]", function(byte) return string.format("%%%02X", byte:byte()) end))
end

-- The chat reads [b], [ff0000] and the like: a character without width keeps brackets from being read.
local function shown(text)
    return (text:gsub("%s+$", ""):gsub("%[", "[\226\128\139"))
end

-- A request that found no answer is sent once more. Its key keeps the dice from being thrown again.
local function ask(url, again)
    WebRequest.get(url, function(request)
        if not request.is_error then
            broadcastToAll(shown(request.text))
        elseif again then
            ask(url, false)
        else
            broadcastToAll("The dice service does not answer. It may have been done all the same: look first (!cards, !timers).")
        end
    end)
end

function onChat(message, player)
    local what, rest = message:match("^!(%a+)%s*(.-)%s*$")
    local options = what and OPTIONS[what]
    if not options then return true end
    asked = asked + 1
    local url = service .. "/v1/quick/" .. session .. "/" .. what .. "?max=1000&token=" .. token
    url = url .. "&idempotency_key=" .. encoded(player.steam_id .. "-" .. os.time() .. "-" .. asked)
    if what == "roll" then url = url .. "&label=" .. encoded(player.steam_name) end
    for position, name in ipairs(options) do
        -- the last option takes what is left: names have spaces
        local value = position == #options and rest or rest:match("^%S*")
        rest = rest:sub(#value + 1):gsub("^%s+", "")
        if value ~= "" then url = url .. "&" .. name .. "=" .. encoded(value) end
    end
    ask(url, true)
    return true
end
