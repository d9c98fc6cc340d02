"""Names of keys, made nowhere else. Braces: a session's keys share a hash slot, so a Cluster can run its steps."""

PREFIX = "emberdice"


def session(identifier: str) -> str:
    return f"{PREFIX}:{{{identifier}}}"


def log(identifier: str) -> str:
    return f"{PREFIX}:{{{identifier}}}:log"


def reply(identifier: str, key: str) -> str:
    return f"{PREFIX}:{{{identifier}}}:reply:{key}"


def rate(identifier: str) -> str:
    return f"{PREFIX}:{{{identifier}}}:rate"


SESSIONS = f"{PREFIX}:sessions"
"""Sorted set of session ids by the end of their life, for the ceiling; approximate."""


def creations(address: str, minute: int) -> str:
    return f"{PREFIX}:creations:{address}:{minute}"


def failures(address: str, minute: int) -> str:
    return f"{PREFIX}:failures:{address}:{minute}"
