#!lua
-- Read what a play wants of a session, and renew its life.
--
-- KEYS[1]  session (hash)   KEYS[2]  log (stream)   KEYS[3]  reply kept for the idempotency key (string)
-- KEYS[4]  uses in this second
-- ARGV[1]  field of the caller's token
-- ARGV[2]  life from the second use on, in ms
-- ARGV[3]  1 if this is a use of the session, 0 if the same use has read before
-- ARGV[4]  uses that the session may have in a second, and ARGV[5] each of its tokens
-- ARGV[6…] fields wanted, or * for all but the texts of own decks
--
-- Returns  {now_ms}: no such session, or no such token
--          {now_ms, 'limited'}: too many uses in this second
--          {now_ms, version, reply or nil, ms left to live, field, value or nil, …}
-- now_ms is the server's time, and never before what the session has seen.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local known = redis.call('HMGET', KEYS[1], 'version', 'seen', 'uses', ARGV[1], 'stamp')
if not known[1] or not known[4] then
  return {now}
end
local reply = redis.call('GET', KEYS[3])
if not reply and ARGV[3] == '1' and too_many(KEYS[4], time[1], ARGV[1], known[4], ARGV[4], ARGV[5]) then
  return {now, 'limited'}
end
now = math.max(now, tonumber(known[2]))

-- A session that is used a second time is there to stay.
local uses = tonumber(known[3])
if uses < 2 then
  uses = redis.call('HINCRBY', KEYS[1], 'uses', ARGV[3])
end
if uses >= 2 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  redis.call('PEXPIRE', KEYS[2], ARGV[2])
end

local answer = {now, known[1], reply, redis.call('PTTL', KEYS[1]), ARGV[1], known[4], 'stamp', known[5]}
return with_fields(answer, KEYS[1], ARGV, 6)
