"""Read, play, commit: how every operation of a session runs, whatever it does."""

import asyncio
import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any, Generic, NamedTuple, TypeVar
from weakref import WeakValueDictionary

import msgspec
from msgspec import Struct
from redis.asyncio import Redis

from service.dice import Chance, Tape
from service.errors import GameError, KeyReused, Unauthorized
from service.metrics import Metrics
from service.store import keys
from service.store.connection import Script, StoreUnavailable, guarded, time_at
from service.store.limits import TooManyRequests
from service.store.live import GONE
from service.table.records import Counts, Token
from service.table.turn import EVERYTHING, Records, Turn, Unread
from service.words import Lang

FIRST_LIFE_MS = 24 * 3_600_000
"""Life of a session until its second authorised use."""
DEADLINE_S = 2.0
CALLER_KEY_LIFE_MS = 24 * 3_600_000
OWN_KEY_LIFE_MS = 60_000
MOST_KEYS = 1_000
"""Keys of a session that are kept for long. Those beyond live as short as the service's own: safe to repeat at once."""
LOG_ENTRIES = 500
STAMP = "stamp"
KNOWN_SESSIONS, KNOWN_BYTES = 256, 65_536
"""How many sessions a worker remembers, and how large ones."""

T = TypeVar("T")

encode = msgspec.json.Encoder().encode


class Busy(Exception):
    """Other steps of the same session kept coming first until the deadline."""


class Seat(Struct, frozen=True):
    """Where a caller sits: the session, and the field of the token that was shown."""

    session: str
    token_field: str


def seat(session: str, token: str) -> Seat:
    return Seat(session, f"k:{token_digest(token)}")


def token_digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


class Wish(Struct, frozen=True, kw_only=True):
    """What a caller wants done: the play, and how a repetition of the same wish is known."""

    play: Callable[[Turn], Any]
    facts: Any
    """Type of what the play returns."""
    wants: tuple[str, ...] = ()
    """Fields that the play is known to read; others are fetched when it asks."""
    key: str | None = None
    fingerprint: str = ""
    expects: int | None = None
    """Version of the thing to change, as If-Match names it."""


class Done(Struct, Generic[T], frozen=True):
    facts: Any
    token: Token
    now_ms: int
    lang: Lang
    replayed: bool = False
    expires_ms: int = 0
    """End of the session's life, where it was looked up."""


class Known(Struct):
    """The last that this worker saw of a session."""

    version: int
    now_ms: int
    records: Records
    read_at_s: float

    @property
    def stamp(self) -> bytes | None:
        """Tells a step from another of the same version, which there can be after a failover."""
        return self.records.raw.get(STAMP)


class Step(NamedTuple):
    """What a commit is known by: its stamp is like no other, and under its key its reply is kept."""

    stamp: bytes
    key: str
    reply: bytes
    reply_life_ms: int


class Kept(Struct, frozen=True):
    """A reply as it is stored: facts, not wording."""

    fingerprint: str
    facts: msgspec.Raw


class Store:
    def __init__(
        self,
        redis: Redis,
        chance: Chance,
        *,
        life_ms: int,
        most_per_second: tuple[int, int] = (0, 0),
        metrics: Metrics | None = None,
    ) -> None:
        """`most_per_second`: uses of a session, and of each of its tokens; 0 is no limit."""
        self.redis, self.chance, self.life_ms, self._metrics = redis, chance, life_ms, metrics
        self._most = most_per_second
        self._read_script, self._commit_script = (Script(name) for name in ("read.lua", "commit.lua"))
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._known: OrderedDict[str, Known] = OrderedDict()

    async def now_ms(self, session: str | None = None) -> int:
        """Redis' time, where the session is or will be."""
        return await time_at(self.redis, keys.session(session) if session else None)

    # Looking.

    async def look(self, at: Seat, see: Callable[[Turn], T], wants: Iterable[str] = (), *, counts: bool = True) -> Done[T]:
        """What `see` makes of the session now; nothing is written. `counts`: whether it is a use of its own,
        which is limited. Raises Unauthorized, StoreUnavailable, TooManyRequests."""
        wanted, use = _wanted("head", "clock", *wants), int(counts)
        while True:
            known, _, left_ms = await self._read(at, wanted, "", use)
            turn = self._turn(at, known, Tape(self.chance), None, fresh=True)
            try:
                return Done(see(turn), turn.token, turn.now_ms, turn.head.lang, expires_ms=known.now_ms + left_ms)
            except Unread as unread:
                wanted, use = _wanted(*wanted, unread.field), 0

    # Playing.

    async def play(self, at: Seat, wish: Wish) -> Done[Any]:
        """Play and commit, once, however often the same key asks. Raises what the play raises, and Busy."""
        give_up_s = time.monotonic() + DEADLINE_S
        lock = self._locks.setdefault(at.session, asyncio.Lock())
        try:
            async with asyncio.timeout(DEADLINE_S):  # not around the calls: those end by themselves, and whole
                await lock.acquire()
        except TimeoutError:
            raise Busy from None
        try:
            return await self._play(at, wish, give_up_s)
        finally:
            lock.release()

    async def _play(self, at: Seat, wish: Wish, give_up_s: float) -> Done[Any]:
        key = _reply_key(at, wish.key)
        dice = Tape(self.chance)
        wanted = _wanted("head", "clock", *(("counts",) if wish.key else ()), *wish.wants)
        known = self._remembered(at)
        fresh, use = known is None, 1
        while time.monotonic() < give_up_s:
            if known is None:
                known, reply, _ = await self._read(at, wanted, key, use)
                fresh, use = True, 0
                if reply is not None:
                    return self._replayed(reply, wish, at, known)
            dice.rewind()
            try:
                turn = self._turn(at, known, dice, wish, fresh=fresh)
                facts = wish.play(turn)
                life_ms = CALLER_KEY_LIFE_MS if self._count_key(turn, wish) else OWN_KEY_LIFE_MS
            except Unread as unread:
                wanted, known = _wanted(*wanted, unread.field), None
                continue
            except (GameError, msgspec.DecodeError):
                if fresh:
                    raise
                known = None  # judged by what this worker remembered: judge again by what is
                continue
            if turn.event is None and wish.key is None:  # nothing is changed without being told
                if fresh:
                    return Done(facts, turn.token, turn.now_ms, turn.head.lang)
                known = None
                continue
            step = Step(_stamp(), key, _kept(wish, facts), life_ms)
            answer = await self._commit(at, turn, known, step, wanted, use)
            match answer[0]:
                case b"done":
                    self._remember(at, known, turn, step.stamp, int(answer[1]))
                    return Done(facts, turn.token, turn.now_ms, turn.head.lang)
                case b"replay":
                    return self._replayed(answer[1], wish, at, known)
                case b"moved":
                    known, fresh, use = self._seen(at, answer[1:], wanted, has_reply=False), True, 0
                case _:
                    self.forget(at.session)
                    raise Unauthorized
        raise Busy

    def _turn(self, at: Seat, known: Known, dice: Tape, wish: Wish | None, *, fresh: bool) -> Turn:
        """Redis' time as it was read; where the reading is remembered, that and what has passed here since."""
        now_ms = known.now_ms + (0 if fresh else int((time.monotonic() - known.read_at_s) * 1_000))
        token = known.records[at.token_field]
        if token is None:
            raise Unauthorized
        return Turn(
            known.records,
            now_ms=now_ms,
            version=known.version + 1,
            token=token,
            dice=dice,
            key=wish.key if wish else None,
            expects=wish.expects if wish else None,
        )

    @staticmethod
    def _count_key(turn: Turn, wish: Wish) -> bool:
        """Whether the key is one of those that are kept for long."""
        if wish.key is None or turn.event is None:
            return False
        hour = turn.now_ms // 3_600_000
        counts: Counts = turn.get("counts")
        taken = {each: n for each, n in counts.keys.items() if each > hour - 24}
        if sum(taken.values()) >= MOST_KEYS:
            return False
        turn.put("counts", msgspec.structs.replace(counts, keys={**taken, hour: taken.get(hour, 0) + 1}))
        return True

    def _replayed(self, reply: bytes, wish: Wish, at: Seat, known: Known) -> Done[Any]:
        kept = msgspec.json.decode(reply, type=Kept)
        token = known.records[at.token_field]
        if kept.fingerprint != wish.fingerprint:
            raise KeyReused
        facts = msgspec.json.decode(kept.facts, type=wish.facts)
        replayed = wish.key is not None  # else it is this step itself, its first reply lost
        return Done(facts, token, known.now_ms, known.records["head"].lang, replayed)

    # The two scripts.

    async def _read(self, at: Seat, wanted: tuple[str, ...], key: str, use: int) -> tuple[Known, bytes | None, int]:
        arguments = [at.token_field, self.life_ms, use, *self._most, *wanted]
        answer = await self._twice(self._read_script, at.session, key, arguments)
        if len(answer) == 2:
            raise TooManyRequests(1)
        if len(answer) == 1:
            self.forget(at.session)
            raise Unauthorized
        return self._seen(at, answer, wanted, has_reply=True), answer[2], int(answer[3])

    def _seen(self, at: Seat, answer: list[Any], wanted: tuple[str, ...], *, has_reply: bool) -> Known:
        now_ms, version = int(answer[0]), int(answer[1])
        told = answer[4 if has_reply else 2 :]
        raw = {told[i].decode(): told[i + 1] for i in range(0, len(told), 2)}
        whole = EVERYTHING in wanted
        before = self._known.get(at.session)
        if before and before.version == version and before.stamp == raw.get(STAMP):
            raw, whole = {**before.records.raw, **raw}, whole or before.records.whole
        known = Known(version, now_ms, Records(raw, whole=whole), time.monotonic())
        self._keep(at.session, known)
        return known

    async def _commit(self, at: Seat, turn: Turn, known: Known, step: Step, wanted: tuple[str, ...], use: int) -> list[Any]:
        base = [turn.version - 1, known.stamp or b"", step.stamp]
        kept = [step.reply, step.reply_life_ms]
        head = [at.token_field, *base, turn.now_ms, self.life_ms, use, *kept, LOG_ENTRIES, *self._most]
        answer: list[Any] = await self._twice(
            self._commit_script, at.session, step.key, [*head, *_writes(turn, known.records), *wanted]
        )
        if answer[0] == b"limited":
            raise TooManyRequests(1)
        return answer

    async def create(self, session: str, changes: dict[str, Any], now_ms: int) -> None:
        """Write a session's first records. Raises StoreUnavailable where the id is taken or the server's clock went back."""
        sets = [part for field, value in changes.items() for part in (field, encode(value))]
        head: list[Any] = [
            "",
            0,
            b"",
            _stamp(),
            now_ms,
            FIRST_LIFE_MS,
            0,
            b"",
            OWN_KEY_LIFE_MS,
            LOG_ENTRIES,
            *self._most,
            len(changes),
            0,
            0,
        ]
        answer = await self._twice(self._commit_script, session, secrets.token_hex(8), [*head, *sets])
        if answer[0] == b"moved":
            raise StoreUnavailable("the session was not created")

    async def _twice(self, script: Script, session: str, key: str, arguments: list[Any]) -> Any:
        """A lost reply is asked for once more: the reply key makes the second time harmless."""
        names = [keys.session(session), keys.log(session), keys.reply(session, key), keys.rate(session)]
        try:
            return await self._call(script, names, arguments)
        except StoreUnavailable:
            return await self._call(script, names, arguments)

    async def _call(self, script: Script, names: list[str], arguments: list[Any]) -> Any:
        with self._metrics.store_call(script.name) if self._metrics else nullcontext():
            return await script(self.redis, names, arguments)

    async def delete(self, session: str) -> None:
        await guarded(self.redis.unlink(keys.session(session), keys.log(session)))
        await guarded(self.redis.publish(keys.log(session), GONE))
        self.forget(session)

    # What this worker remembers.

    def _remembered(self, at: Seat) -> Known | None:
        known = self._known.get(at.session)
        return known if known and known.records.raw.get(at.token_field) else None

    def _remember(self, at: Seat, known: Known, turn: Turn, stamp: bytes, now_ms: int) -> None:
        if turn.event is None:  # it was no step
            return
        raw = {**known.records.raw, **{field: _encoded(value) for field, value in turn.changes.items()}, STAMP: stamp}
        self._keep(at.session, Known(turn.version, now_ms, Records(raw, whole=known.records.whole), time.monotonic()))

    def _keep(self, session: str, known: Known) -> None:
        if sum(map(len, filter(None, known.records.raw.values()))) > KNOWN_BYTES:
            self.forget(session)
            return
        self._known[session] = known
        self._known.move_to_end(session)
        if len(self._known) > KNOWN_SESSIONS:
            self._known.popitem(last=False)

    def language(self, session: str) -> Lang | None:
        """The session's own language, where this worker has just seen it."""
        known = self._known.get(session)
        head = known.records["head"] if known and "head" in known.records.raw else None
        return head.lang if head else None

    def forget(self, session: str) -> None:
        self._known.pop(session, None)


def _wanted(*fields: str) -> tuple[str, ...]:
    """Each field once; the scripts look for EVERYTHING in the first place."""
    return tuple(sorted(dict.fromkeys(fields), key=lambda field: field != EVERYTHING))


def _reply_key(at: Seat, key: str | None) -> str:
    if key is None:
        return secrets.token_hex(8)
    return hashlib.sha256(f"{at.token_field}\0{key}".encode()).hexdigest()[:32]


def _stamp() -> bytes:
    return secrets.token_hex(4).encode()


def _kept(wish: Wish, facts: Any) -> bytes:
    return encode(Kept(wish.fingerprint, msgspec.Raw(encode(facts))))


def _encoded(value: Any) -> bytes | None:
    return None if value is None else encode(value)


UNDOABLE_NOT = ("counts",)


def _writes(turn: Turn, before: Records) -> list[Any]:
    """The commit's last arguments: how many of each, then fields set, fields removed, the event and what was before."""
    sets = [part for field, value in turn.changes.items() if value is not None for part in (field, encode(value))]
    removed = [field for field, value in turn.changes.items() if value is None]
    was = {f: _text(before.raw.get(f)) for f in turn.changes if f not in UNDOABLE_NOT}
    event = [] if turn.event is None else [encode(turn.event), encode(was)]
    return [len(sets) // 2, len(removed), len(event) // 2, *sets, *removed, *event]


def _text(raw: bytes | None) -> str | None:
    return None if raw is None else raw.decode()
