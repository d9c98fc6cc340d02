"""Secret rolls and draws: who may not see them finds nothing of them, wherever they look. Tokens: nobody finds them."""

import itertools
import logging

import msgspec
import pytest

from service import logs
from service.store import keys
from service.systems.sixd6 import complications
from service.words import Lang
from tests.live import Table, in_process, until

pytestmark = pytest.mark.anyio

# Faces that make numbers which occur nowhere else: 6 sixes in each of 9 waves, then 6 fives: 60 dice, 60 successes.
FACES = [6] * 54 + [5] * 6
LABEL = "Perception-of-a-secret"
MEMBERS = ['"face"', '"dice"', '"sides"', '"wave"', '"successes"', '"margin"', '"outcome"', '"complications"', '"truncated"']
TOLD = [LABEL, "60 success", "60 succès", "Dice: 6", "Dés", *MEMBERS]

ROLL = ("POST /characters/zoe/sixd6/rolls", {"base": 6, "difficulty": "hard", "label": LABEL, "faces": FACES})
AT_TABLE = ("POST /sixd6/rolls", {"base": 6, "difficulty": "hard", "label": LABEL, "faces": FACES})
HEAL = (
    "POST /characters/zoe/sixd6/healing",
    {"care": "treat_damage", "base": 6, "damage": 5, "label": LABEL, "faces": FACES},
)

#                  who rolled    visibility   who sees all of it
SEES = [
    ("gm", "gm", {"gm", "second gm"}),
    ("player", "gm", {"player", "gm", "second gm"}),
    ("chat", "gm", {"gm", "second gm"}),  # a chat gets the public form, of its own rolls too
    ("gm", "blind", {"gm", "second gm"}),
    ("player", "blind", {"gm", "second gm"}),
    ("gm", "self", {"gm"}),
    ("player", "self", {"player"}),
    ("chat", "self", set()),
]
READERS = ("gm", "second gm", "player", "second player", "chat", "second chat", "observer")


@pytest.fixture
async def table(client):
    table = await Table.open(client, characters=["Zoé", "Max"], settings={"tier_size": 3})
    for name in READERS:
        if name not in table.tokens:
            await table.mint(name, name.removeprefix("second "))
    return table


async def everything_read(table, by, event):
    """Whatever a reader can see of a table, headers included."""
    pages = [
        "/events",
        "/events?order=desc&format=text",
        f"/events/{event}",
        f"/events/{event}?include=html,roll20,foundry",
        f"/events/{event}?format=text&lang=fr",
        "/state",
    ]
    pages += ["/characters", "/characters/zoe", "/decks", "/decks/light", "/cards", ""]
    for page in pages:
        answer = await table.ask(f"GET {page}", by=by)
        assert answer.status_code == 200, (page, answer.text)
        yield page, answer.text + str([item for item in answer.headers.items() if item[0] != "x-request-id"])


@pytest.mark.parametrize(("line", "body"), [ROLL, AT_TABLE, HEAL], ids=["character", "table", "healing"])
@pytest.mark.parametrize(("roller", "visibility", "seen_by"), SEES)
async def test_a_secret_roll_is_found_only_where_it_may_be_seen(table, line, body, roller, visibility, seen_by):
    answer = await table.ask(line, {**body, "visibility": visibility}, by=roller, key="a-key-of-the-roller")
    assert answer.status_code == 200, answer.text
    event = answer.json()["event"]
    assert ("dice" in answer.json()) == (roller in seen_by)
    assert bool(found(answer.text)) == (roller in seen_by)
    for reader in READERS:
        one = (await table.ask(f"GET /events/{event}", by=reader)).json()
        assert one["redacted"] == (reader not in seen_by)
        if reader in seen_by:
            assert len(one["data"]["dice"]) == 60
            continue
        async for page, said in everything_read(table, reader, event):
            assert found(said) == set(), (reader, page)
            assert reader == roller or reader in ("gm", "second gm") or "a-key-of-the-roller" not in said


def found(said):
    return {each for each in TOLD if each in said}


async def test_a_secret_roll_as_text_is_its_public_form(table):
    line, body = ROLL
    for visibility, lang in itertools.product(("gm", "blind", "self"), ("en", "fr")):
        answer = await table.ask(line, {**body, "visibility": visibility}, lang=lang)
        as_text = await table.ask(line, {**body, "visibility": visibility}, lang=lang, format="text")
        assert as_text.text == answer.json()["public_text"] + "\n"
        assert not found(as_text.text)


SECRETS = [
    ROLL,
    AT_TABLE,
    HEAL,
    ("POST /decks/light/draws", {"character": "zoe", "count": 3}),
    ("POST /sixd6/rolls", {"characters": ["zoe", "max"], "base": 2}),
    ("POST /sixd6/damage", {"characters": ["zoe", "max"], "die": "d6"}),
    ("POST /characters/zoe/sixd6/damage", {"die": "d6"}),
]


@pytest.mark.parametrize("format_", ["text", "markdown"])
@pytest.mark.parametrize("visibility", ["gm", "self"])
@pytest.mark.parametrize(("line", "body"), SECRETS)
async def test_whatever_is_secret_is_posted_in_its_public_form(table, line, body, visibility, format_):
    as_json = (await table.ask(line, {**body, "visibility": visibility}, by="player")).json()
    if line == HEAL[0]:
        table = await Table.open(table.client, characters=["Zoé"], settings={"tier_size": 3})
    posted = await table.ask(line, {**body, "visibility": visibility}, by="player", format=format_)
    assert posted.text.replace("\\", "") == as_json["public_text"] + "\n"
    assert as_json["text"] != as_json["public_text"]


OTHER_ROLLS = [
    {"base": 6, "label": LABEL, "faces": FACES},
    {"base": 1, "faces": [1]},
    {"base": 0, "red": 3, "faces": [1, 1, 1]},
    {"base": 3, "difficulty": "impossible"},
]


@pytest.mark.parametrize("visibility", ["gm", "blind", "self"])
async def test_what_others_get_is_of_one_length_whatever_was_rolled(client, visibility):
    table = await Table.open(client, characters=["Zoé"], clock="paused")
    for role in ("chat", "observer"):
        await table.mint(role, role)
    own, one, as_text = set(), set(), set()
    for body in OTHER_ROLLS:  # four events whose ids have one digit
        answer = await table.ask(ROLL[0], {**body, "visibility": visibility}, by="chat")
        own.add(len(answer.content))
        event = f"GET /events/{answer.json()['event']}"
        one.add(len((await table.ask(event, by="observer")).content))
        as_text.add(len((await table.ask(event, by="observer", format="text")).content))
    assert [len(each) for each in (own, one, as_text)] == [1, 1, 1]


async def test_an_event_is_rendered_as_the_answer_was(table):
    told = {"include": "html,roll20,foundry", "lang": "fr"}
    for visibility in ("public", "gm"):
        answer = (await table.ask(ROLL[0], {**ROLL[1], "visibility": visibility}, by="player", **told)).json()
        event = (await table.ask(f"GET /events/{answer['event']}", **told)).json()
        assert event["renderings"]["foundry"] == answer["renderings"]["foundry"] != []
        assert event["renderings"] == answer["renderings"]


async def test_a_secret_roll_deals_no_cards(table):
    for visibility in ("gm", "blind", "self"):
        await table.ask(ROLL[0], {"base": 0, "red": 2, "faces": [1, 1], "visibility": visibility})
    assert (await table.get("/decks/light"))["draw_pile"] == 43


@pytest.mark.parametrize("holder", [{"character": "zoe"}, {"table": True}])
@pytest.mark.parametrize(("roller", "visibility", "seen_by"), SEES)
async def test_a_secret_draw_is_found_only_where_it_may_be_seen(redis, table, holder, roller, visibility, seen_by):
    answer = await table.ask("POST /decks/light/draws", {"count": 3, "visibility": visibility, **holder}, by=roller)
    event = answer.json()["event"]
    if roller not in seen_by:
        assert set(answer.json()) == {"redacted", "visibility", "public_text", "event", "text", "lang"}
    cards = [told async for told in what_names_active_cards(redis, table)]
    assert len(cards) == 15
    for reader in set(READERS) - seen_by - ({"chat"} if roller == "chat" else set()):
        async for page, said in everything_read(table, reader, event):
            assert not [each for each in cards if each in said], (reader, page)


@pytest.mark.parametrize("visibility", ["gm", "self"])
async def test_a_chat_is_never_shown_a_card_that_it_drew_in_secret(redis, table, visibility):
    secret = {"character": "zoe", "visibility": visibility}
    event = (await table.ask("POST /decks/light/draws", secret, by="chat")).json()["event"]
    cards = [told async for told in what_names_active_cards(redis, table)]
    quick = f"/v1/quick/{table.id}/cards"
    pages = [("/quick", (await table.client.get(quick, params={"token": table.tokens["chat"]})).text)]
    pages += [each async for each in everything_read(table, "chat", event)]
    assert not [page for page, said in pages if any(each in said for each in cards)]


async def what_names_active_cards(redis, table):
    """Ids, names and effects, from the store: some of these draws are seen by nobody whole."""
    deck = msgspec.json.decode(await redis.hget(keys.session(table.id), "d:light"))
    texts = list(complications.cards(complications.Deck.LIGHT).values())
    for number in map(int, deck["active"]):
        worded = [texts[number - deck["first"]].worded(lang) for lang in Lang]
        for told in (f'"light-{number}"', *(part for each in worded for part in (each.name, each.effect))):
            yield told


async def test_a_key_that_is_asked_again_tells_its_reader_no_more(table):
    line, body = ROLL
    first = await table.ask(line, {**body, "visibility": "blind"}, by="player", key="k")
    again = await table.ask(line, {**body, "visibility": "blind"}, by="player", key="k")
    assert again.headers["Idempotency-Replayed"] == "true"
    assert first.json() == again.json()
    assert not found(again.text)


# The service's own log, and its problems.


@pytest.fixture(scope="module")
async def logging_client(redis_url, anyio_backend):
    async with in_process(redis_url, access_log=True) as client:
        yield client


@pytest.fixture
async def logged(logging_client, caplog, capfd):
    """A table, and what the service logs of it: the lines of the access log go straight to standard error."""
    caplog.set_level(logging.DEBUG)
    access = []

    def log():
        logs.writer.flush()
        access.append(capfd.readouterr().err)
        told = (logs.JsonLines().format(each) for each in caplog.records if each.name.startswith("emberdice"))
        return "\n".join([*told, *access])

    return await Table.open(logging_client, characters=["Zoé", "Max"], settings={"tier_size": 3}), log


async def test_a_secret_roll_is_not_in_the_services_log(logged):
    table, log = logged
    for (line, body), visibility in itertools.product((ROLL, AT_TABLE), ("gm", "blind", "self")):
        await table.ask(line, {**body, "visibility": visibility})
    await table.ask(ROLL[0], {**ROLL[1], "faces": FACES[:-1], "visibility": "gm"})
    assert log().count(table.id) == 7
    assert not found(log())


IN_QUERIES = [
    ("GET /state", {"token": "{}"}),
    ("GET /events", {"token": "{}", "after": "0"}),
    ("GET /events", {"after": "{}"}),
    ("GET /characters", {"token": "{}"}),
    ("GET /clock", {"access_token": "{}"}),
    ("GET /decks/light/peek", {"count": "{}"}),
]


@pytest.mark.parametrize(("line", "query"), IN_QUERIES)
async def test_a_token_in_a_query_is_neither_logged_nor_said_again(logged, line, query):
    table, log = logged
    for token in table.tokens.values():
        asked = {name: value.format(token) for name, value in query.items()}
        for headers in ({}, {"Authorization": "Basic no"}):
            answer = await table.ask(line, headers=headers, **asked)
            assert answer.status_code in (200, 401, 422)
            assert token not in answer.text
        assert table.id in log()
        assert token not in log()


IN_BODIES = [
    ("POST /decks/light/draws", {"character": "{}"}),
    ("POST /discards", {"cards": ["{}"]}),
    ("POST /clock", {"action": "{}"}),
    ("POST /characters/zoe/sixd6/rolls", {"base": "{}"}),
]


@pytest.mark.parametrize(("line", "body"), IN_BODIES)
async def test_a_token_in_a_body_is_not_logged(logged, line, body):
    table, log = logged
    for token in table.tokens.values():
        said = {name: [token] if isinstance(value, list) else token for name, value in body.items()}
        assert (await table.ask(line, said)).is_client_error
        assert table.id in log()
        assert token not in log()


IN_PATHS = ["DELETE /tokens/{}", "GET /characters/{}", "GET /decks/{}", "GET /events/{}", "GET /no-such-place/{}"]


@pytest.mark.parametrize("line", IN_PATHS)
async def test_a_token_in_a_path_is_not_logged(logged, line):
    table, log = logged
    for token in table.tokens.values():
        assert (await table.ask(line.format(token))).status_code == 404
        assert table.id in log()
        assert token not in log()


@pytest.mark.parametrize("line", IN_PATHS)
async def test_a_token_in_a_path_is_not_said_again(table, line):
    for token in table.tokens.values():
        assert token not in (await table.ask(line.format(token))).text


async def test_no_token_is_in_the_log_of_a_running_service(service):
    async with service.client() as client:
        table = await Table.open(client, characters=["Zoé"])
        await table.mint("chat", "chat")
        await table.mint("observer", "observer")
        for token in table.tokens.values():
            await table.ask("GET /state", by=token)
            await table.ask("GET /state", by=f"{token}x")
            await table.ask("GET /state", headers={"Authorization": ""}, token=token)
            await table.ask("GET /events", headers={"Authorization": ""}, token=token)
            await client.get(f"/v1/quick/{table.id}/roll", params={"token": token, "base": 3})
        last = await table.ask("GET /state", headers={"X-Request-Id": f"last-{table.id}"})
        assert last.status_code == 200
    until(lambda: f"last-{table.id}" in service.log)
    assert not [token for token in table.tokens.values() if token in service.log]
