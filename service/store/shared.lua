-- What both scripts need; it is put in front of them.

-- Count a use in this second: true where the session, or the token, has had as many as it may. 0 is no limit.
--
-- A gm is held up by its own token alone: whoever floods the table, the gm can revoke.
--
-- key  hash: the second that is counted, uses of the session, uses of each token; gone two seconds later
local function too_many(key, second, token, record, most, most_of_token)
  most, most_of_token = tonumber(most), tonumber(most_of_token)
  if string.find(record, '"role":"gm"', 1, true) then
    most = 0
  end
  if most + most_of_token == 0 then
    return false
  end
  local counted = redis.call('HMGET', key, 'second', 'all', token)
  if counted[1] ~= second then
    redis.call('DEL', key)
    counted = {second, 0, 0}
  end
  local all, own = (counted[2] or 0) + 1, (counted[3] or 0) + 1
  if (most > 0 and all > most) or (most_of_token > 0 and own > most_of_token) then
    return true
  end
  redis.call('HSET', key, 'second', second, 'all', all, token, own)
  redis.call('PEXPIRE', key, 2000)
  return false
end

-- Append to the answer the fields of the session that are named from `first` on; * stands for all but the texts of own decks.
local function with_fields(answer, session, named, first)
  if named[first] == '*' then
    local all = redis.call('HGETALL', session)
    for i = 1, #all, 2 do
      if string.sub(all[i], 1, 2) ~= 't:' then
        answer[#answer + 1] = all[i]
        answer[#answer + 1] = all[i + 1]
      end
    end
    first = first + 1
  end
  if named[first] then
    local values = redis.call('HMGET', session, unpack(named, first))
    for i = first, #named do
      answer[#answer + 1] = named[i]
      answer[#answer + 1] = values[i - first + 1]
    end
  end
  return answer
end

