"""What a client of Redis lets out when Redis, or the way to it, refuses."""

from redis.exceptions import RedisError

# A failover can let a bare TypeError out of the client (redis-py 3546).
FAULTS = (RedisError, OSError, TimeoutError, TypeError)
