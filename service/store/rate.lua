-- Count a use in this second: true where the session, or the token, has had as many as it may. 0 is no limit.
--
-- key  hash: the second that is counted, uses of the session, uses of each token; gone two seconds later
local function too_many(key, second, token, most, most_of_token)
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

