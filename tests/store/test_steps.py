"""Read, play, commit on a real server: one effect, never on what is no longer so, and how long it is kept."""

import asyncio
import secrets
from importlib.resources import files

import msgspec
import pytest
import redis as blocking
from msgspec import UNSET, Struct
from redis.crc import key_slot

from service.dice import SystemDice
from service.errors import KeyReused, NotThere, Unauthorized
from service.store import keys, steps
from service.store.connection import StoreUnavailable, connect
from service.store.steps import CALLER_KEY_LIFE_MS, OWN_KEY_LIFE_MS, Busy, Store, Wish, seat, token_digest
from service.table import characters, clock, decks, session
from service.table.audience import Role
from service.table.characters import CharacterFacts
from service.table.clock import ClockAction
from service.table.decks import Drawn
from service.table.records import Counts, Head, Token
from service.table.session import SessionFacts, TokenFacts
from service.table.turn import EVERYTHING

pytestmark = pytest.mark.anyio

HOUR_MS, DAY_MS, MONTH_MS = 3_600_000, 86_400_000, 30 * 86_400_000
MINUTE_MS = 60_000


@pytest.fixture(scope="module", autouse=True)
async def scripts(redis):
    """Known to the server, so that each step is one EVALSHA a script."""
    for name in ("read.lua", "commit.lua"):
        await redis.script_load(files("service.store").joinpath(name).read_text())


@pytest.fixture
async def store(redis_url):
    store = worker(redis_url)
    yield store
    await store.redis.aclose()


@pytest.fixture
async def other(redis_url):
    """The store of another worker."""
    store = worker(redis_url)
    yield store
    await store.redis.aclose()


def worker(redis_url):
    return Store(connect(redis_url), SystemDice(), life_ms=MONTH_MS)


@pytest.fixture
async def at(store):
    """Seat of the gm of a new session. A player's token is `player`."""
    now_ms, identifier = await store.now_ms(), secrets.token_hex(10)
    records = session.opened(Head(created_ms=now_ms), ("Zoé",), running=True, chance=store.chance)
    tokens = {f"k:{token_digest(role)}": Token(id=role, role=role, created_ms=now_ms) for role in (Role.GM, Role.PLAYER)}
    await store.create(identifier, {**records, **tokens}, now_ms)
    return seat(identifier, "gm")


async def field(redis, at, name):
    return msgspec.json.decode(await redis.hget(keys.session(at.session), name))


async def record(redis, at):
    return await redis.hgetall(keys.session(at.session))


async def events(redis, at):
    return await redis.xlen(keys.log(at.session))


async def calls(redis):
    """Scripts that the server has run since it started."""
    return (await redis.info("commandstats"))["cmdstat_evalsha"]["calls"]


async def calls_for(redis, step):
    before = await calls(redis)
    done = await step
    return done, await calls(redis) - before


def draw(count=1, wants=("d:light",), **told):
    return Wish(play=lambda turn: decks.draw(turn, "light", count, holder=None), facts=Drawn, wants=wants, **told)


def rename(name, **told):
    return Wish(play=lambda turn: session.change(turn, {"name": name}, UNSET), facts=SessionFacts, **told)


def add(name, identifier):
    profile = characters.Profile(name=name)
    return Wish(
        play=lambda turn: characters.add(turn, profile, identifier), facts=CharacterFacts, wants=(EVERYTHING, "counts")
    )


def move_clock(action):
    def play(turn):
        moved = clock.moved(turn.clock, action, 0, turn.now_ms)
        if moved != turn.clock:
            turn.put("clock", moved)
            turn.tell("clock.changed", moved)
        return moved

    return Wish(play=play, facts=clock.Clock)


# What is read, and how often the server is asked.


async def test_a_field_that_was_not_read_is_read_when_the_play_asks(store, redis, at):
    done, asked = await calls_for(redis, store.play(at, draw(wants=())))
    assert len(done.facts.cards) == 1
    assert asked == 3  # read, read with the deck, commit


async def test_what_a_worker_remembers_needs_no_reading(store, redis, at):
    _, first = await calls_for(redis, store.play(at, draw()))
    _, second = await calls_for(redis, store.play(at, draw()))
    assert (first, second) == (2, 1)


async def test_a_large_session_is_not_remembered(store, redis, at, monkeypatch):
    monkeypatch.setattr(steps, "KNOWN_BYTES", 100)
    await store.play(at, draw())
    _, asked = await calls_for(redis, store.play(at, draw()))
    assert asked == 2


async def test_everything_is_all_but_the_texts_of_own_decks(store, redis, at):
    await redis.hset(keys.session(at.session), "t:own", '[{"card": "limp", "name": "Limp"}]')
    done = await store.look(at, lambda turn: [*turn._records], (EVERYTHING,))
    assert {"head", "clock", "scene", "counts", "d:light", "d:grave", "c:zoe", at.token_field} <= set(done.facts)
    assert "t:own" not in done.facts
    assert (await store.look(at, lambda turn: turn.get("t:own"), (EVERYTHING,))).facts[0].name == "Limp"


async def test_a_stale_memory_is_answered_with_what_is(store, other, redis, at):
    first = await store.play(at, draw())
    second = await other.play(at, draw())
    third, asked = await calls_for(redis, store.play(at, draw()))
    assert asked == 2  # commit: moved; commit
    assert [done.facts.draw_pile for done in (first, second, third)] == [42, 41, 40]
    assert len({card.id for done in (first, second, third) for card in done.facts.cards}) == 3


async def test_a_memory_of_what_a_failover_undid_is_stale_though_the_version_is_the_same(store, other, redis, at):
    before = {name: await redis.dump(name) for name in (keys.session(at.session), keys.log(at.session))}
    await store.play(at, draw(2))
    for name, dumped in before.items():
        await (redis.restore(name, MONTH_MS, dumped, replace=True) if dumped else redis.delete(name))
    drawn = (await other.play(at, draw(1))).facts
    again = (await store.play(at, draw(1))).facts
    assert (drawn.draw_pile, again.draw_pile) == (42, 41)
    assert await events(redis, at) == 2


async def test_a_refusal_by_a_stale_memory_is_judged_again(store, other, at):
    await store.play(at, add("Max", "max"))
    await other.play(at, add("Ana", "ana"))
    found = Wish(play=lambda turn: characters.change(turn, "ana", characters.ProfileChange(seat=1)), facts=CharacterFacts)
    assert (await store.play(at, found)).facts.seat == 1


async def test_that_nothing_changes_is_judged_again_too(store, other, redis, at):
    await store.play(at, move_clock(ClockAction.PAUSE))
    await other.play(at, move_clock(ClockAction.RESUME))
    assert (await store.play(at, move_clock(ClockAction.PAUSE))).facts.since_ms is None
    assert "since_ms" not in await field(redis, at, "clock")


async def test_a_refusal_of_what_is_changes_nothing(store, redis, at):
    await store.play(at, draw())
    before = await record(redis, at)
    with pytest.raises(NotThere):
        await store.play(at, Wish(play=lambda turn: characters.one(turn, "nobody"), facts=CharacterFacts))
    assert {**await record(redis, at), b"uses": b""} == {**before, b"uses": b""}
    assert await events(redis, at) == 1


# Together.


async def test_a_step_that_is_played_again_meets_the_same_dice(store, other, at):
    rolled = []

    class Faces(Struct):
        faces: list[int]

    def play(turn):
        faces = [turn.dice.below(6) for _ in range(20 + 5 * len(rolled))]
        rolled.append(faces)
        turn.tell("roll", Faces(faces))
        return Faces(faces)

    await store.play(at, rename("known"))
    await other.play(at, rename("moved"))
    done = await store.play(at, Wish(play=play, facts=Faces))
    first, second = rolled
    assert second[:20] == first
    assert done.facts.faces == second


async def test_workers_at_once_deal_each_card_once(store, other, redis, at):
    done = await asyncio.gather(*(each.play(at, draw()) for each in (store, other) * 20))
    assert len({card.id for each in done for card in each.facts.cards}) == 40
    assert sorted(each.facts.draw_pile for each in done) == list(range(3, 43))
    assert await events(redis, at) == 40


async def test_who_never_comes_first_gives_up_at_the_deadline(store, redis, redis_url, at, monkeypatch):
    monkeypatch.setattr(steps, "DEADLINE_S", 0.3)
    with blocking.Redis.from_url(redis_url) as rival:

        def play(turn):
            rival.hincrby(keys.session(at.session), "version", 1)
            return session.change(turn, {"name": "too late"}, UNSET)

        with pytest.raises(Busy):
            await store.play(at, Wish(play=play, facts=SessionFacts))
    assert await events(redis, at) == 0
    assert "name" not in await field(redis, at, "head")
    assert (await store.play(at, rename("in time"))).facts.name == "in time"


# Idempotency.


async def test_a_key_has_one_effect_and_one_answer(store, other, redis, at):
    first = await store.play(at, draw(key="k", fingerprint="draw one"))
    again = [await each.play(at, draw(key="k", fingerprint="draw one")) for each in (store, other, store)]
    assert not first.replayed
    assert all(done.replayed and done.facts == first.facts for done in again)
    assert await events(redis, at) == 1


async def test_a_key_at_once_has_one_effect(store, other, redis, at):
    wish = draw(key="k", fingerprint="draw one")
    done = await asyncio.gather(*(each.play(at, wish) for each in (store, other) * 10))
    assert len({each.facts for each in done}) == 1
    assert sorted(each.replayed for each in done) == [False] + [True] * 19
    assert await events(redis, at) == 1


@pytest.mark.parametrize("remembers", [True, False])
async def test_a_key_does_not_go_with_another_request(store, other, redis, at, remembers):
    await store.play(at, draw(key="k", fingerprint="draw one"))
    with pytest.raises(KeyReused):
        await (store if remembers else other).play(at, draw(2, key="k", fingerprint="draw two"))
    assert await events(redis, at) == 1


async def test_a_key_belongs_to_its_token(store, redis, at):
    player = seat(at.session, "player")
    done = [await store.play(each, draw(key="k", fingerprint="draw one")) for each in (at, player)]
    assert not any(each.replayed for each in done)
    assert await events(redis, at) == 2


async def test_a_refused_request_may_be_tried_again_under_its_key(store, at):
    named = {"key": "k", "fingerprint": "ana"}
    seated = Wish(
        play=lambda turn: characters.change(turn, "ana", characters.ProfileChange(seat=1)), facts=CharacterFacts, **named
    )
    with pytest.raises(NotThere):
        await store.play(at, seated)
    await store.play(at, add("Ana", "ana"))
    done = await store.play(at, seated)
    assert (done.facts.seat, done.replayed) == (1, False)


async def test_keys_beyond_a_thousand_a_day_are_kept_for_a_minute(store, other, redis, at):
    hour = await store.now_ms() // HOUR_MS
    counts = Counts(next_card=62, keys={hour - 24: 500, hour - 23: 400, hour: 599})
    await redis.hset(keys.session(at.session), "counts", msgspec.json.encode(counts))
    last = await store.play(at, draw(key="last", fingerprint="draw one"))
    beyond = await store.play(at, draw(key="one too many", fingerprint="draw one"))
    assert (await other.play(at, draw(key="one too many", fingerprint="draw one"))).facts == beyond.facts
    lives_ms = sorted([await redis.pttl(each) async for each in redis.scan_iter(f"emberdice:{{{at.session}}}:reply:*")])
    assert lives_ms[0] <= OWN_KEY_LIFE_MS < lives_ms[-1] <= CALLER_KEY_LIFE_MS
    assert (await other.play(at, draw(key="last", fingerprint="draw one"))).facts == last.facts
    assert not (await store.play(at, draw())).replayed
    assert sum((await field(redis, at, "counts"))["keys"].values()) == 1_000


async def test_a_token_that_was_revoked_elsewhere_is_not_even_given_its_own_replies(store, other, at):
    player, wish = seat(at.session, "player"), draw(key="k", fingerprint="draw one")
    await store.play(player, wish)
    await other.play(at, Wish(play=lambda turn: session.revoke(turn, "player"), facts=TokenFacts, wants=(EVERYTHING,)))
    for _ in range(2):
        with pytest.raises(Unauthorized):
            await store.play(player, wish)


# Lives.


async def life_ms(redis, at):
    return await redis.pttl(keys.session(at.session))


def about(expected_ms):
    return pytest.approx(expected_ms - MINUTE_MS / 2, abs=MINUTE_MS / 2)


USES = [
    # first use, second use
    (rename("first"), rename("second")),
    (None, rename("second")),
    (rename("first"), None),
    (None, None),
    (draw(wants=()), draw(wants=())),
]


@pytest.mark.parametrize(("first", "second"), USES)
async def test_a_session_lives_a_day_until_its_second_use_then_a_month(store, redis, at, first, second):
    assert await life_ms(redis, at) == about(DAY_MS)
    await use(store, at, first)
    assert await life_ms(redis, at) == about(DAY_MS)
    await use(store, at, second)
    assert await life_ms(redis, at) == about(MONTH_MS)


async def use(store, at, wish):
    await (store.look(at, lambda turn: turn.head.name) if wish is None else store.play(at, wish))


@pytest.mark.parametrize("wish", [None, rename("again")])
@pytest.mark.parametrize("remembers", [True, False])
async def test_each_use_renews_the_session_and_its_log(store, other, redis, at, wish, remembers):
    for _ in range(2):
        await store.play(at, rename("used"))
    for key in (keys.session(at.session), keys.log(at.session)):
        await redis.pexpire(key, HOUR_MS)
    await use(store if remembers else other, at, wish)
    assert [await redis.pttl(key) for key in (keys.session(at.session), keys.log(at.session))] == [about(MONTH_MS)] * 2


async def test_a_wrong_token_renews_nothing_and_is_no_use(store, redis, at):
    await store.play(at, rename("used"))
    await redis.pexpire(keys.session(at.session), HOUR_MS)
    before, stranger = await record(redis, at), seat(at.session, "stranger")
    with pytest.raises(Unauthorized):
        await store.look(stranger, lambda turn: turn.head)
    with pytest.raises(Unauthorized):
        await store.play(stranger, rename("stolen"))
    assert await life_ms(redis, at) == about(HOUR_MS)
    assert await record(redis, at) == before


async def test_every_key_of_a_session_ends_and_shares_its_slot(store, redis, at):
    await store.play(at, draw(key="k", fingerprint="draw one"))
    await store.play(at, draw())
    found = [key async for key in redis.scan_iter(match=f"*{at.session}*", count=10_000)]
    lives = sorted([await redis.pttl(key) for key in found])
    # the service's own keys (of the creation and of the second draw), the caller's, the log, the session
    assert lives == [about(MINUTE_MS), about(MINUTE_MS), about(DAY_MS), about(MONTH_MS), about(MONTH_MS)]
    assert len({key_slot(key) for key in found}) == 1


async def test_a_deleted_session_is_gone_for_every_worker(store, other, redis, at):
    for each in (store, other):
        await each.play(at, draw())
    await store.delete(at.session)
    assert not await redis.exists(keys.session(at.session), keys.log(at.session))
    for each in (store, other):
        with pytest.raises(Unauthorized):
            await each.play(at, draw())
        with pytest.raises(Unauthorized):
            await each.look(at, lambda turn: turn.head)
    assert not await redis.exists(keys.session(at.session), keys.log(at.session))


async def test_an_id_is_given_once(store, redis, at):
    before = await record(redis, at)
    with pytest.raises(StoreUnavailable):
        await store.create(at.session, {"head": Head(name="second", created_ms=1)}, await store.now_ms())
    assert await record(redis, at) == before


# Time.


async def test_time_stays_where_it_was_while_the_servers_clock_is_behind(store, other, redis, at):
    later_ms = await store.now_ms() + HOUR_MS
    await redis.hset(keys.session(at.session), "seen", later_ms)
    times = [(await each.play(at, draw())).now_ms for each in (store, other, store, store)]
    times.append((await other.look(at, lambda turn: turn.head)).now_ms)
    assert times == [later_ms] * 5
    assert await events(redis, at) == 4


async def test_time_is_never_before_what_a_worker_saw(store, at):
    times = []
    for _ in range(20):
        times.append((await store.play(at, rename("again"))).now_ms)
        times.append((await store.look(at, lambda turn: turn.head)).now_ms)
    assert times == sorted(times)


# What others have written.


async def test_members_of_a_newer_version_are_tolerated(store, redis, at):
    for name in ("head", "clock", "counts", "c:zoe", "d:light", at.token_field):
        newer = {**await field(redis, at, name), "of_a_newer_version": {"deep": [1]}}
        await redis.hset(keys.session(at.session), name, msgspec.json.encode(newer))
    await redis.hset(keys.session(at.session), "x:unheard-of", "{}")
    assert (await store.play(at, draw(key="k"))).facts.draw_pile == 42
    assert (await store.look(at, lambda turn: turn.characters(), (EVERYTHING,))).facts["zoe"].name == "Zoé"


async def test_a_record_that_does_not_parse_is_left_as_it_is(store, redis, at):
    await redis.hset(keys.session(at.session), "d:light", '{"first": 1, "pile": [')
    before = await record(redis, at)
    with pytest.raises(msgspec.DecodeError):
        await store.play(at, draw())
    assert {**await record(redis, at), b"uses": b""} == {**before, b"uses": b""}
    assert (await store.play(at, rename("still here"))).facts.name == "still here"


async def test_a_server_that_forgot_the_scripts_is_told_them_again(store, redis, at):
    await store.play(at, draw())
    await redis.script_flush()
    assert (await store.play(at, draw())).facts.draw_pile == 41
    await redis.script_flush()
    assert (await store.look(at, lambda turn: turn.deck("light"))).facts.pile
