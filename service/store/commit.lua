#!lua
-- Write what a play changed, unless the session moved or the key was answered already. All or nothing.
-- What changed nothing has no event, and is no step: its reply alone is kept.
--
-- KEYS[1]  session (hash)   KEYS[2]  log (stream)   KEYS[3]  reply kept for the idempotency key (string)
-- KEYS[4]  uses in this second
-- ARGV[1]  field of the caller's token, or '' to create the session
-- ARGV[2]  version that the play started from, 0 to create, and ARGV[3] the stamp of the step that made it
-- ARGV[4]  stamp of this step, unlike any other: after a failover another step may have the number of one that was lost
-- ARGV[5]  time that the play was played at, in ms
-- ARGV[6]  life of the session from now, in ms: the first use's, or from the second on
-- ARGV[7]  1 if this is a use of the session, 0 if the same use has read before
-- ARGV[8]  reply, and ARGV[9] its life in ms
-- ARGV[10] entries that the log keeps
-- ARGV[11] uses that the session may have in a second, and ARGV[12] each of its tokens
-- ARGV[13…15]  numbers of: fields set, fields removed, events; then these: field, value … field … event, before …
-- and last the fields wanted if the session moved (or * for all but the texts of own decks)
--
-- Who follows the session hears of the new version on a channel that is called like the log.
--
-- Returns  {'done', now_ms}
--          {'replay', reply}      the key was answered already
--          {'moved', now_ms, version, field, value or nil, …}
--                                 another step came first, or the play's time is not reached yet: nothing is written
--          {'limited'}            too many uses in this second
--          {'gone'}               no such session, or no such token

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local known = redis.call('HMGET', KEYS[1], 'version', 'seen', 'uses', ARGV[1], 'stamp')
local creates = ARGV[1] == ''
local sets, removes, events = tonumber(ARGV[13]), tonumber(ARGV[14]), tonumber(ARGV[15])
if not creates and (not known[1] or not known[4]) then
  return {'gone'}
end
local reply = redis.call('GET', KEYS[3])
if reply then
  return {'replay', reply}
end
if ARGV[7] == '1' and too_many(KEYS[4], time[1], ARGV[1], known[4], ARGV[11], ARGV[12]) then
  return {'limited'}
end
now = math.max(now, tonumber(known[2] or 0))
if (known[1] or '0') ~= ARGV[2] or (known[5] or '') ~= ARGV[3] or now < tonumber(ARGV[5]) then
  if not creates and tonumber(known[3]) < 2 then
    redis.call('HINCRBY', KEYS[1], 'uses', ARGV[7])  -- it comes again without being counted
  end
  local answer = {'moved', now, known[1], ARGV[1], known[4], 'stamp', known[5]}
  return with_fields(answer, KEYS[1], ARGV, 16 + 2 * sets + removes + 2 * events)
end

if events == 0 and not creates then
  redis.call('SET', KEYS[3], ARGV[8], 'PX', ARGV[9])
  return {'done', now}
end

local version, at = tonumber(ARGV[2]) + 1, 16
redis.call('HSET', KEYS[1], 'version', version, 'seen', ARGV[5], 'stamp', ARGV[4])
for i = 1, sets do
  redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1])
  at = at + 2
end
for i = 1, removes do
  redis.call('HDEL', KEYS[1], ARGV[at])
  at = at + 1
end
for i = 0, events - 1 do
  redis.call('XADD', KEYS[2], 'MAXLEN', ARGV[10], version .. '-' .. i, 'event', ARGV[at], 'before', ARGV[at + 1])
  at = at + 2
end
redis.call('SET', KEYS[3], ARGV[8], 'PX', ARGV[9])

-- The first authorised use leaves the life that creation gave; from the second on each use renews it.
local uses = creates and 0 or redis.call('HINCRBY', KEYS[1], 'uses', tonumber(known[3]) < 2 and ARGV[7] or 0)
if creates then
  redis.call('HSET', KEYS[1], 'uses', 0)
end
if creates or uses >= 2 then
  redis.call('PEXPIRE', KEYS[1], ARGV[6])
end
local left = redis.call('PTTL', KEYS[1])
redis.call('PEXPIRE', KEYS[2], left)
redis.call('PUBLISH', KEYS[2], version)
return {'done', now}
