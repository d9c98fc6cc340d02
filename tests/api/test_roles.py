"""Who may do what: every operation of a session, asked for by everybody who might."""

import secrets

import pytest

from service.store import keys
from tests.live import Table

pytestmark = pytest.mark.anyio

# A player and a chat that are bound to Max, who is not the character that the rows are about.
ROLES = ("gm", "player", "max's player", "chat", "max's chat", "observer")
STRANGERS = ("another table's gm", "revoked", "nobody")

GM, EVERYBODY = (200, 403, 403, 403, 403, 403), (200,) * 6
PLAYS = (200, 200, 403, 200, 403, 403)  # for a character of theirs
EDITS = (200, 200, 403, 403, 403, 403)
CHAT = (403, 403, 403, 200, 403, 403)  # chat tokens alone stand in a one-liner's address
LOOKS_BY_URL = (403, 403, 403, 200, 200, 200)  # tokens that an address may hold

STATS = {stat: {"value": 6} for stat in ("move", "eyes", "soul", "heart")}
OWN_DECK = {"name": "Own", "cards": [{"card": "limp", "name": "Limp", "copies": 2}]}


def created(statuses):
    return tuple(201 if status == 200 else status for status in statuses)


# api.md, "role | may". What a row says of path and body stands in the order: path's members, body or query.
MATRIX = {
    "readSession": ({}, None, EVERYBODY),
    "changeSession": ({}, {"name": "Samedi"}, GM),
    "deleteSession": ({}, None, GM),
    "mintToken": ({}, {"role": "observer"}, created(GM)),
    "listTokens": ({}, None, GM),
    "readOwnToken": ({}, None, EVERYBODY),
    "revokeToken": ({}, None, GM),
    "readClock": ({}, None, EVERYBODY),
    "moveClock": ({}, {"action": "pause"}, GM),
    "addCharacter": ({}, {"name": "Eve"}, created(EDITS)),
    "listCharacters": ({}, None, EVERYBODY),
    "readCharacter": ({}, None, EVERYBODY),
    "putCharacter": ({}, {"name": "Zoé"}, EDITS),
    "changeCharacter": ({}, {"seat": 2}, EDITS),
    "deleteCharacter": ({"character": "ana"}, None, GM),
    "rollAtTable": ({}, {"base": 3}, PLAYS),
    "rollForCharacter": ({}, {"base": 3}, PLAYS),
    "heal": ({"character": "ana"}, {"care": "treat_damage", "base": 3, "damage": 4}, PLAYS),
    "readHealing": ({}, None, EVERYBODY),
    "setHealingTimer": ({}, {}, GM),
    "clearHealingTimer": ({}, None, GM),
    "readSheet": ({}, None, EVERYBODY),
    "putSheet": ({}, {"aptitudes": {"control": 2}}, EDITS),
    "changeSheet": ({}, {"adjust": {"damage": 1}}, EDITS),
    "takeHit": ({}, {"die": "d6"}, PLAYS),
    "strikeGroup": ({}, {"characters": ["zoe"], "die": "d6"}, PLAYS),
    "soakHit": ({"hit": "{soak}"}, {"kind": "grit", "base": 2}, PLAYS),
    "convertHit": ({"hit": "{conversions}"}, {"count": 0}, PLAYS),
    "applyCard": ({}, {}, PLAYS),
    "listDecks": ({}, None, EVERYBODY),
    "readDeck": ({}, None, EVERYBODY),
    "putDeck": ({"deck": "own"}, OWN_DECK, GM),
    "deleteDeck": ({"deck": "own"}, None, GM),
    "drawCards": ({}, {"character": "zoe"}, PLAYS),
    "discardCards": ({}, {"character": "zoe"}, PLAYS),
    "discardCardsOfDeck": ({}, {"character": "zoe"}, PLAYS),
    "returnCards": ({}, {"cards": ["{light}"]}, PLAYS),
    "shuffleDeck": ({}, {}, GM),
    "peekAtDeck": ({}, None, GM),
    "listCards": ({}, None, EVERYBODY),
    "endScene": ({}, {}, GM),
    "quickRoll": ({}, {"character": "zoe", "base": 3}, CHAT),
    "quickDamage": ({}, {"character": "zoe", "die": "d6"}, CHAT),
    "quickHeal": ({}, {"character": "ana", "care": "treat_damage", "base": 3, "level": 4}, CHAT),
    "quickDraw": ({}, {"character": "zoe"}, CHAT),
    "quickDiscard": ({}, {"character": "zoe"}, CHAT),
    "quickCards": ({}, {"character": "zoe"}, LOOKS_BY_URL),
    "quickTimers": ({}, {"character": "zoe"}, LOOKS_BY_URL),
    "addOpponent": ({}, {"name": "Troll", "burn_max": 4}, created(GM)),
    "listOpponents": ({}, None, EVERYBODY),
    "readOpponent": ({}, None, EVERYBODY),
    "changeOpponent": ({}, {"action_difficulty": 2}, GM),
    "deleteOpponent": ({}, None, GM),
    "burnOpponent": ({}, {"points": 1}, GM),
    "putBurnSheet": ({}, {"stats": STATS}, EDITS),
    "readBurnSheet": ({}, None, EVERYBODY),
    "changeBurnSheet": ({}, {"adjust": {"eyes": 1}}, EDITS),
    "rollActionForCharacter": ({}, {"stat": "move", "dice_count": 1}, PLAYS),
    "takeBurnHit": ({}, {"hit": {"move": 1}}, PLAYS),
    "spendSurge": ({}, {}, PLAYS),
    "buildForCharacter": ({}, {}, PLAYS),
    "readState": ({}, None, EVERYBODY),
    "exportSession": ({}, None, GM),
    "listEvents": ({}, None, EVERYBODY),
    "readEvent": ({}, None, EVERYBODY),
    "undoEvent": ({}, {}, GM),
}

MEMBERS = {
    "character": "zoe",
    "care": "treat_damage",
    "deck": "light",
    "opponent": "ogre",
    "event": "{newest}",
    "card": "{grave}",
    "token": "{spare}",
}


@pytest.fixture(scope="module")
async def operations(client):
    """Method and path of each operation of a session."""
    paths = (await client.get("/openapi.json")).json()["paths"]
    return {
        told["operationId"]: (method.upper(), path, told)
        for path, methods in paths.items()
        if "{session}" in path
        for method, told in methods.items()
        if "operationId" in told
    }


async def made(table, line, body, **told):
    answer = await table.ask(line, body, **told)
    assert answer.is_success, (line, answer.text)
    return answer.json()


@pytest.fixture(scope="module")
async def original(client):
    """A table where every row finds what it asks for, and the ids of what it has."""
    table = await Table.open(client, characters=["Zoé", "Max", "Ana"], settings={"tier_size": 3})
    await table.mint("max's player", "player", characters=["max"])
    await table.mint("chat", "chat")
    await table.mint("max's chat", "chat", characters=["max"])
    await table.mint("observer", "observer")
    spare = await table.mint("revoked", "observer")
    await made(table, f"DELETE /tokens/{spare['id']}", None)
    ids = {"spare": (await table.mint("spare", "observer"))["id"]}
    await made(table, "PUT /characters/zoe/sixd6", {"aptitudes": {"control": 3}, "damage": 3, "trauma": 3})
    await made(table, "PUT /characters/zoe/burn2d6", {"stats": STATS})
    await made(table, "PUT /decks/own", OWN_DECK)
    await made(table, "POST /opponents", {"name": "Ogre", "burn_max": 6})
    ids["light"] = (await made(table, "POST /decks/light/draws", {"character": "zoe"}))["cards"][0]["id"]
    drawn = await made(table, "POST /decks/grave/draws", {"count": 18, "character": "zoe"})
    ids["grave"] = next(card["id"] for card in drawn["cards"] if card["card"] == "contamination")
    damage = "POST /characters/zoe/sixd6/damage"
    ids["soak"] = (await made(table, damage, {"die": "d8", "faces": [5], "wait": "soak"}))["hit"]
    ids["conversions"] = (await made(table, damage, {"die": "d8", "faces": [5], "wait": "soak"}))["hit"]
    composure = {"kind": "composure", "base": 1, "faces": [6, 6, 3], "wait": "conversions"}
    await made(table, f"{damage}/{ids['conversions']}/soak", composure)
    await made(table, "PATCH ", {"name": "Vendredi"})
    ids["newest"] = (await table.get("/state"))["last_event"]
    table.tokens["another table's gm"] = (await Table.open(client)).tokens["gm"]
    return table, ids


async def a_copy(redis, original):
    """The same table under another id, so that each caller finds it as it was."""
    table, _ = original
    copy = Table(table.client, {"id": secrets.token_hex(10), "tokens": table.tokens})
    for key in (keys.session, keys.log):
        await redis.copy(key(table.id), key(copy.id))
    return copy


async def status(copy, ids, operation, row, caller):
    method, path, _ = operation
    members, asked, _ = row
    filled = {name: value.format(**ids) for name, value in {**MEMBERS, **members}.items()}
    path = path.format(session=copy.id, **{name: value for name, value in filled.items() if f"{{{name}}}" in path})
    token = copy.tokens.get(caller)
    if path.startswith("/v1/quick/"):
        query = {**(asked or {}), **({"token": token} if token else {})}
        answer = await copy.client.request(method, path, params=query)
    else:
        body = {"cards": [ids["light"]]} if asked == {"cards": ["{light}"]} else asked
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        answer = await copy.client.request(method, path, json=body, headers=headers)
    return answer.status_code


async def test_every_operation_of_a_session_has_its_row(operations):
    assert set(operations) == set(MATRIX)
    for name, (_, _, told) in operations.items():
        assert told["security"] or name.startswith("quick"), name


@pytest.mark.parametrize("name", MATRIX)
async def test_each_role_may_what_its_row_says(name, operations, redis, original):
    row, (_, ids) = MATRIX[name], original
    found = {
        caller: await status(await a_copy(redis, original), ids, operations[name], row, caller)
        for caller in (*ROLES, *STRANGERS)
    }
    expected = dict(zip(ROLES, row[2], strict=True)) | dict.fromkeys(STRANGERS, 401)
    assert found == expected


OF_MAX = [
    # what a token that is bound to Max may
    ("POST /characters/max/sixd6/rolls", {"base": 2}, 200),
    ("POST /characters/max/sixd6/damage", {"die": "d4"}, 200),
    ("POST /characters/max/sixd6/healing", {"care": "calm_self", "base": 2, "trauma": 2}, 200),
    ("POST /characters/ana/sixd6/healing", {"care": "calm_other", "carer": "max", "base": 2, "trauma": 2}, 200),
    ("POST /characters/max/sixd6/healing", {"care": "calm_other", "carer": "ana", "base": 2, "trauma": 2}, 200),
    ("POST /characters/ana/sixd6/healing", {"care": "calm_other", "carer": "zoe", "base": 2, "trauma": 2}, 403),
    ("POST /decks/light/draws", {"character": "max"}, 200),
    ("POST /decks/light/draws", {"table": True}, 403),
    ("POST /decks/light/draws", {}, 403),
    ("POST /discards", {"character": "max"}, 200),
    ("POST /discards", {"all": True}, 403),
]


@pytest.mark.parametrize(("line", "body", "expected"), OF_MAX)
async def test_a_bound_token_plays_its_own_character(line, body, expected, redis, original):
    for role in ("max's player", "max's chat"):
        copy = await a_copy(redis, original)
        assert (await copy.ask(line, body, by=role)).status_code == expected


async def test_whose_token_opens_nothing_learns_nothing(client, original):
    table, _ = original
    asked = [
        await table.ask("GET /state", by="not a token", lang="en"),
        await table.ask("GET /state", by="revoked", lang="en"),
        await Table(client, {"id": "0" * 20, "tokens": table.tokens}).ask("GET /state", lang="en"),
        await Table(client, {"id": "no-such-id", "tokens": table.tokens}).ask("GET /state", lang="en"),
    ]
    for answer in asked:
        assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert len({str({**answer.json(), "instance": ""}) for answer in asked}) == 1


BAD_HEADERS = [
    "",
    "Bearer",
    "Bearer ",
    "Basic {gm}",
    "{gm}",
    "Bearer {gm} {gm}",
    "Bearer\t{gm}",
    "Token {gm}",
    "Bearer {GM}",
]


@pytest.mark.parametrize("header", BAD_HEADERS)
async def test_a_token_that_is_not_shown_as_it_should_be(header, table):
    gm = table.tokens["gm"]
    answer = await table.ask("GET /state", headers={"Authorization": header.format(gm=gm, GM=gm.upper())})
    assert answer.status_code == 401


async def test_a_revoked_token_is_worth_nothing_at_once(table):
    chat = await table.mint("chat", "chat")
    assert (await table.ask("POST /decks/light/draws", {}, by="chat", key="k")).status_code == 200
    await table.ask(f"DELETE /tokens/{chat['id']}")
    for line, body in (("POST /decks/light/draws", {}), ("POST /clock", {"action": "pause"}), ("GET /state", None)):
        assert (await table.ask(line, body, by="chat", key="k")).status_code == 401


async def test_the_last_gm_stays(table):
    own = (await table.get("/tokens/me"))["id"]
    assert (await table.ask(f"DELETE /tokens/{own}")).status_code == 403
    await table.mint("second gm", "gm")
    assert (await table.ask(f"DELETE /tokens/{own}")).status_code == 200
    assert (await table.ask("GET /tokens")).status_code == 401
    assert len(await table.get("/tokens", by="second gm")) > 0


async def test_an_undo_leaves_no_table_without_a_gm(table):
    second = await table.mint("second gm", "gm")
    minted = (await table.get("/state"))["last_event"]
    own = (await table.get("/tokens/me"))["id"]
    await table.ask(f"DELETE /tokens/{own}", by="second gm")
    assert (await table.ask(f"POST /events/{minted}/undo", {}, by="second gm")).status_code == 403
    assert (await table.get("/tokens/me", by="second gm"))["id"] == second["id"]
