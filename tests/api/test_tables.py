"""Tables over HTTP: races between four workers, and what a session's operations answer."""

import asyncio
import secrets

import msgspec
import pytest
from redis import Redis

from service.store import keys
from tests.live import Table

pytestmark = pytest.mark.anyio


def problem(answer, status, code, **members):
    told = answer.json()
    assert (answer.status_code, told.get("code")) == (status, code), answer.text
    assert told["text"]
    assert {name: told[name] for name in members} == members
    return told


def own_deck(copies=1, cards=("a", "b", "c", "d"), name="Own"):
    return {"name": name, "cards": [{"card": card, "name": card.upper(), "copies": copies} for card in cards]}


# Races, over four workers.


@pytest.fixture
async def hot(service):
    """A table on the running service, whose clients are spread over its workers."""
    async with service.client() as client:
        yield await Table.open(client, characters=["Zoé", "Max"], settings={"tier_size": 3})


async def test_sixty_draws_at_once_from_52_cards(hot):
    await hot.ask("PUT /decks/french", own_deck(13))
    answers = await asyncio.gather(*(hot.ask("POST /decks/french/draws", {"table": True}) for _ in range(60)))
    dealt = [answer.json()["cards"][0]["id"] for answer in answers if answer.status_code == 200]
    assert len(dealt) == len(set(dealt)) == 52
    for answer in answers:
        if answer.status_code != 200:
            problem(answer, 409, "deck-exhausted", wanted=1, left=0)
    deck = await hot.get("/decks/french")
    assert (deck["draw_pile"], deck["active"], deck["size"]) == (0, 52, 52)
    assert {card["id"] for card in deck["active_cards"]} == set(dealt)


async def test_fifty_healers_of_one_patient(hot):
    healing = {"care": "treat_damage", "base": 4, "damage": 9}
    answers = await asyncio.gather(*(hot.ask("POST /characters/zoe/sixd6/healing", healing) for _ in range(50)))
    refused = [problem(answer, 409, "healing-cooldown") for answer in answers if answer.status_code != 200]
    assert len(refused) == 49
    assert len({(each["next_roll"]["at"], each["next_roll"]["at_elapsed_seconds"]) for each in refused}) == 1
    assert sum(event["type"] == "sixd6.healing" for event in (await hot.get("/events"))["events"]) == 1


async def test_two_cares_at_once_heal_one_tier_together(hot):
    two_successes = {"base": 2, "faces": [5, 5], "trauma": 9}
    cares = [{"care": "calm_self"}, {"care": "calm_other", "carer": "max"}]
    answers = await asyncio.gather(
        *(hot.ask("POST /characters/zoe/sixd6/healing", {**two_successes, **care}) for care in cares)
    )
    assert sorted(answer.json()["healed"] for answer in answers) == [1, 2]
    (window,) = [
        each["window"] for each in (await hot.get("/characters/zoe/sixd6/healing"))["tracks"] if each["track"] == "trauma"
    ]
    assert (window["healed"], window["tier_size"]) == (3, 3)


async def test_one_key_twenty_times_at_once(hot):
    answers = await asyncio.gather(
        *(hot.ask("POST /characters/zoe/sixd6/rolls", {"base": 6, "red": 3}, key="k") for _ in range(20))
    )
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert sum("Idempotency-Replayed" in answer.headers for answer in answers) == 19
    assert len((await hot.get("/events"))["events"]) == 1


CLIENTS, ROUNDS, STEPS = 8, 6, 21  # 1,008 operations
LINES = (
    ["POST /decks/{deck}/draws"] * 6
    + ["POST /discards"] * 3
    + ["POST /decks/{deck}/returns"] * 3
    + ["POST /decks/{deck}/shuffles"] * 2
    + ["PUT /decks/own", "DELETE /decks/own", "POST /scene/end"]
)
chance = secrets.SystemRandom()


async def test_a_thousand_operations_leave_each_card_in_one_place(hot, service):
    await hot.ask("PUT /decks/own", own_deck(5))
    for _ in range(ROUNDS):
        answers = await asyncio.gather(*(someone(hot) for _ in range(CLIENTS)))
        seen = {(answer.status_code, answer.json().get("code")) for each in answers for answer in each}
        assert seen <= {
            (200, None),
            (201, None),
            (404, "not-found"),
            (409, "card-not-there"),
            (409, "deck-exhausted"),
            (409, "deck-in-use"),
        }
        decks = stored_decks(service, hot)
        assert set(decks) >= {"light", "grave"}
        for deck in decks.values():
            active = list(map(int, deck.get("active", {})))
            everywhere = [*deck.get("pile", []), *deck.get("discard", []), *active]
            size = sum(deck["copies"]) if "copies" in deck else len(everywhere)
            assert sorted(everywhere) == list(range(deck["first"], deck["first"] + size))
        assert [sizes(decks)[deck] for deck in ("light", "grave")] == [43, 18]


async def someone(table):
    """What one client does in a round, one request after the other, with the cards that it has come to know."""
    known, answers = [], []
    for _ in range(STEPS):
        line, deck = chance.choice(LINES), chance.choice(("light", "grave", "own"))
        answer = await table.ask(line.format(deck=deck), body_of(line, deck, known))
        answers.append(answer)
        known += [card["id"] for card in answer.json().get("cards", []) if "draws" in line]
    return answers


def body_of(line, deck, known):
    mine = [*dict.fromkeys(card for card in known if card.startswith(f"{deck}-"))][-2:]
    if "draws" in line:
        return {"count": chance.randint(1, 4), "from": chance.choice(("top", "bottom", "random")), "table": True}
    if "returns" in line:
        return {"cards": mine or ["light-1"], "to": chance.choice(("top", "bottom", "shuffle"))}
    if "discards" in line:
        return {"cards": mine} if mine else {"all": True}
    if "shuffles" in line:
        return {"discard": chance.choice((True, False))}
    return own_deck(5) if line.startswith("PUT") else {} if line.startswith("POST") else None


def stored_decks(service, table):
    with Redis.from_url(service.redis_url) as redis:
        record = redis.hgetall(keys.session(table.id))
    return {name[2:].decode(): msgspec.json.decode(raw) for name, raw in record.items() if name.startswith(b"d:")}


def sizes(decks):
    return {name: sum(len(deck.get(part, ())) for part in ("pile", "discard", "active")) for name, deck in decks.items()}


# Created, changed, deleted.


async def test_what_is_created_is_where_location_says(client, table):
    opened = await client.post("/v1/sessions", json={"name": "Vendredi"})
    gm = {"Authorization": f"Bearer {opened.json()['tokens']['gm']}"}
    found = await client.get(opened.headers["Location"], headers=gm)
    assert (opened.status_code, found.json()["name"]) == (201, "Vendredi")

    added = await table.ask("POST /characters", {"name": "Ana"})
    found = await client.get(added.headers["Location"], headers={"Authorization": f"Bearer {table.tokens['gm']}"})
    assert (added.status_code, found.json()["name"]) == (201, "Ana")

    minted = await table.ask("POST /tokens", {"role": "observer"})
    gone = await client.delete(minted.headers["Location"], headers={"Authorization": f"Bearer {table.tokens['gm']}"})
    assert (minted.status_code, gone.status_code) == (201, 200)


async def test_a_put_creates_once(table):
    first, second = [await table.ask("PUT /characters/ana", {"name": "Ana"}) for _ in range(2)]
    assert (first.status_code, second.status_code) == (201, 200)
    assert "Location" in first.headers
    assert "Location" not in second.headers


async def test_an_opening_answers_everything_that_was_asked(client):
    asked = {
        "name": "Vendredi",
        "lang": "fr",
        "settings": {"tier_size": 4, "reshuffle": "never", "roll_limit": "per_patient", "provided_faces": "gm"},
        "characters": ["Zoé", "Max"],
        "clock": "paused",
    }
    answer = await client.post("/v1/sessions", json=asked)
    told = answer.json()
    assert {name: told[name] for name in ("name", "lang", "settings")} == {
        name: asked[name] for name in ("name", "lang", "settings")
    }
    assert [(each["id"], each["name"]) for each in told["characters"]] == [("zoe", "Zoé"), ("max", "Max")]
    assert answer.headers["Cache-Control"] == "no-store"
    table = Table(client, told)
    assert (await table.get("/clock"))["running"] is False
    assert not set(table.tokens.values()) & set(str(await table.get("")).split("'"))


PATCHES = [
    # body, then name, lang, tier size, reshuffle
    ({}, ("Vendredi", "fr", 4, "never")),
    ({"name": None}, (None, "fr", 4, "never")),
    ({"lang": None}, ("Vendredi", "en", 4, "never")),
    ({"settings": None}, ("Vendredi", "fr", None, "when_empty")),
    ({"settings": {}}, ("Vendredi", "fr", 4, "never")),
    ({"settings": {"tier_size": None}}, ("Vendredi", "fr", None, "never")),
    ({"settings": {"tier_size": 5}, "name": "Samedi"}, ("Samedi", "fr", 5, "never")),
]


@pytest.mark.parametrize(("body", "expected"), PATCHES)
async def test_a_patch_keeps_what_is_absent_and_resets_what_is_null(client, body, expected):
    table = await Table.open(client, name="Vendredi", lang="fr", settings={"tier_size": 4, "reshuffle": "never"})
    answer = await table.ask("PATCH ", body)
    assert answer.status_code == 200
    for told in (answer.json(), await table.get("")):
        settings = told["settings"]
        assert (told["name"], told["lang"], settings["tier_size"], settings["reshuffle"]) == expected


async def test_a_characters_patch_keeps_what_is_absent_and_resets_what_is_null(table):
    await table.ask("PUT /characters/zoe", {"name": "Zoé", "seat": 3, "present": False, "player": "Lea", "meta": {"a": "b"}})
    told = (await table.ask("PATCH /characters/zoe", {"seat": None, "meta": None})).json()
    assert (told["name"], told["seat"], told["present"], told["player"], told["meta"]) == ("Zoé", None, False, "Lea", {})


DELETIONS = ["/characters/max", "/characters/zoe/sixd6/healing/treat_damage", "/decks/own", "/tokens/{token}", ""]


@pytest.mark.parametrize("path", DELETIONS)
async def test_a_deletion_answers_200_with_its_text(table, path):
    await table.ask("PUT /decks/own", own_deck())
    minted = await table.mint("observer", "observer")
    answer = await table.ask(f"DELETE {path.format(token=minted['id'])}")
    assert answer.status_code == 200
    assert answer.json()["text"]


async def test_a_deleted_session_opens_to_nobody(table):
    await table.ask("DELETE ")
    for line, body in (("GET ", None), ("GET /state", None), ("POST /decks/light/draws", {}), ("DELETE ", None)):
        problem(await table.ask(line, body), 401, "unauthorized")


# Keys.


async def test_a_replay_says_so_and_is_worded_for_its_reader(table):
    line, body = "POST /decks/light/draws", {"count": 2, "character": "zoe"}
    first = await table.ask(line, body, key="k")
    again = await table.ask(line, body, key="k")
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.content == first.content
    in_french = await table.ask(line, body, key="k", lang="fr")
    assert in_french.headers["Idempotency-Replayed"] == "true"
    assert in_french.json()["text"] != first.json()["text"]
    in_body = await table.ask(line, {**body, "idempotency_key": "k"})
    assert in_body.content == first.content


async def test_a_replay_of_a_creation_is_a_creation(table):
    first, again = [await table.ask("POST /characters", {"name": "Ana"}, key="k") for _ in range(2)]
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.headers["Location"] == again.headers["Location"]


REUSED = [
    ("POST /decks/light/draws", {"count": 2}),
    ("POST /decks/light/draws", {"character": "zoe"}),
    ("POST /decks/grave/draws", {"count": 1}),
    ("POST /decks/light/shuffles", {}),
]


@pytest.mark.parametrize(("line", "body"), REUSED)
async def test_a_key_does_not_go_with_another_request(table, line, body):
    await table.ask("POST /decks/light/draws", {"count": 1}, key="k")
    problem(await table.ask(line, body, key="k"), 422, "idempotency-key-reused")
    assert (await table.get("/decks/light"))["draw_pile"] == 42


async def test_members_of_a_table_s_settings_are_told_to_who_misspells_one(table):
    known = "tier_size, reshuffle, roll_limit, provided_faces"
    (error,) = problem(await table.ask("PATCH ", {"settings": {"tiersize": 4}}), 422, "invalid-request")["errors"]
    assert error == {"at": "body.settings.tiersize", "problem": f"is not known here; known are: {known}"}
    answer = await table.client.post("/v1/sessions", json={"settings": {"tiersize": 4}})
    assert problem(answer, 422, "invalid-request")["errors"] == [error]


BASES = [
    # who asks for a soak without a sheet, the member that must tell the base, and of a group for whom
    ("POST /characters/zoe/sixd6/damage/{hit}/soak", {"kind": "grit"}, "body.base", ""),
    ("POST /characters/zoe/sixd6/damage", {"die": "d8", "soak": {"kind": "grit"}}, "body.soak.base", ""),
    ("POST /sixd6/damage", {"characters": ["zoe"], "die": "d8", "soak": {"kind": "grit"}}, "body.soak.base", "Zoé: "),
    ("POST /characters/zoe/sixd6/healing", {"care": "treat_damage", "damage": 3}, "body.base", ""),
]


@pytest.mark.parametrize(("line", "body", "at", "whom"), BASES)
async def test_without_a_sheet_the_base_is_asked_for_where_it_belongs(table, line, body, at, whom):
    waiting = await table.ask("POST /characters/zoe/sixd6/damage", {"die": "d8", "faces": [5], "wait": "soak"})
    (error,) = problem(await table.ask(line.format(**waiting.json()), body), 422, "invalid-request")["errors"]
    assert error == {"at": at, "problem": f"{whom}is required: there is no sheet to take it from"}


async def test_a_default_that_is_spelt_out_is_the_same_request(table):
    await table.ask("POST /decks/light/draws", {}, key="k")
    answer = await table.ask("POST /decks/light/draws", {"count": 1, "from": "top", "table": False}, key="k")
    assert answer.headers["Idempotency-Replayed"] == "true"


BAD_KEYS = ["", " ", "a b", "x" * 129]


@pytest.mark.parametrize("key", BAD_KEYS)
async def test_a_key_that_cannot_be_one(table, key):
    for told in ({"headers": {"Idempotency-Key": key}}, {"body": {"idempotency_key": key}}):
        answer = await table.ask("POST /decks/light/draws", told.get("body", {}), headers=told.get("headers"))
        problem(answer, 422, "invalid-request")
    assert (await table.get("/decks/light"))["draw_pile"] == 43


async def test_two_keys_that_differ(table):
    problem(await table.ask("POST /decks/light/draws", {"idempotency_key": "a"}, key="b"), 422, "invalid-request")


async def test_secrets_are_not_kept_for_a_replay(client, table):
    problem(await client.post("/v1/sessions", json={}, headers={"Idempotency-Key": "k"}), 422, "invalid-request")
    problem(await table.ask("POST /tokens", {"role": "observer"}, key="k"), 422, "invalid-request")


# Languages.

LANGS = [
    # the query, Accept-Language, the session's; the answer's
    ("fr", "en", "en", "fr"),
    ("en", "fr", "fr", "en"),
    (None, "fr-CH,en;q=0.5", "en", "fr"),
    (None, "en", "fr", "en"),
    (None, "de", "fr", "fr"),
    (None, None, "fr", "fr"),
    (None, None, None, "en"),
]


# Refused while the request is read, before a step, in it, and after it.
REFUSED = [
    ("POST /discards", {}),
    ("POST /discards", {"card": 1}),
    ("POST /tokens", {"role": "x"}),
    ("POST /tokens", {"role": "observer", "characters": ["zoe"]}),
    ("POST /clock", {"action": "advance"}),
    ("POST /decks/light/draws", {"character": "zoe", "table": True}),
    ("POST /characters/zoe/sixd6/healing", {"care": "treat_damage", "base": 1, "trauma": 1}),
    ("GET /events", {"after": "x"}),
    ("GET /events/9999", None),
    ("GET ", {"x": 1}),
    ("DELETE ", {"x": 1}),
    ("GET /cards", {"character": "nobody"}),
    ("DELETE /tokens/nobody", None),
    ("PATCH ", {"settings": {"tiersize": 3}}),
]


@pytest.mark.parametrize(("query", "header", "own", "expected"), LANGS)
async def test_the_language_of_an_answer_and_of_a_refusal(client, query, header, own, expected):
    table = await Table.open(client, **({"lang": own} if own else {}))
    told = {"headers": {"Accept-Language": header} if header else {}, **({"lang": query} if query else {})}
    draw = "POST /decks/light/draws"
    for line, body in (("GET /decks", None), (draw, {}), (draw, {"character": "nobody"}), ("GET /events", None)):
        answer = await table.ask(line, body, **told)
        assert (answer.json()["lang"], answer.headers["Content-Language"]) == (expected, expected)


@pytest.mark.parametrize(("line", "asked"), REFUSED)
async def test_the_session_s_language_is_that_of_every_refusal(client, line, asked):
    table = await Table.open(client, lang="fr", characters=["Zoé"])
    flat = line.startswith(("GET", "DELETE"))
    answer = await table.ask(line, None if flat else asked, **((asked or {}) if flat else {}))
    assert answer.is_error
    assert (answer.json()["lang"], answer.headers["Content-Language"]) == ("fr", "fr")


@pytest.mark.parametrize("line", ["quick/{}/discard", "quick/{}/roll", "quick/{}/roll?base=1&max_conversions=1"])
async def test_a_one_liner_is_refused_in_the_session_s_language(client, line):
    table = await Table.open(client, lang="fr", characters=["Zoé"])
    chat = (await table.mint("chat", "chat"))["token"]
    answer = await client.get(f"/v1/{line.format(table.id)}", params={"token": chat, "format": "json"})
    assert (answer.status_code, answer.json()["lang"]) == (422, "fr")


ONE_LINERS = [
    # one-liner, and the member at fault as it is called there
    ("damage", {"character": "zoe", "die": "d8", "soak": "grit"}, "query.soak_base"),
    ("damage", {"character": "zoe", "die": "d8", "soak_base": 1}, "query.soak_base"),
    ("damage", {"character": "max", "die": "d8", "heavy": "true"}, "query.heavy"),
    ("damage", {"character": "max", "die": "d8", "heavy": "false", "light": "true"}, "query.light"),
    ("heal", {"character": "zoe", "care": "calm_other", "carer": "Bob", "base": 1}, "query.carer"),
    ("cards", {"character": "Bob"}, "query.character"),
    ("draw", {"deck": "tarot"}, "query.deck"),
]


@pytest.mark.parametrize(("name", "asked", "at"), ONE_LINERS)
async def test_a_one_liner_names_its_own_members(table, name, asked, at):
    await table.ask("PUT /characters/max/sixd6", {})
    token = (await table.mint("chat", "chat"))["token"]
    answer = await table.client.get(f"/v1/quick/{table.id}/{name}", params={"token": token, "format": "json", **asked})
    assert [error["at"] for error in answer.json()["errors"]] == [at]


async def test_a_one_liner_without_cards_names_none(table):
    token = (await table.mint("observer", "observer"))["token"]
    asked = {"token": token, "format": "json"}
    answer = (await table.client.get(f"/v1/quick/{table.id}/cards", params=asked)).json()
    assert (answer["count"], answer["cards"], answer["text"]) == (0, "", "No active cards.")


async def test_a_one_liner_that_plays_says_which_token_it_needs(table):
    token = (await table.mint("observer", "observer"))["token"]
    told = await table.client.get(f"/v1/quick/{table.id}/draw", params={"token": token})
    assert told.status_code == 403
    assert "needs a chat token" in told.text


async def test_a_wasted_burn_names_what_the_table_calls_it(table):
    stats = {stat: {"value": 6} for stat in ("move", "eyes", "soul", "heart")}
    slots = [{"name": "Jetpack", "value": 4}]
    await table.ask("PUT /characters/zoe/burn2d6", {"stats": stats, "slots": slots})
    body = {"stat": "move", "dice_count": 2, "burn_slots_by_name": {"Jetpack": 1}, "helpers": 1}
    told = problem(await table.ask("POST /characters/zoe/burn2d6/rolls", body), 422, "wasted-burn")
    assert [error["at"] for error in told["errors"]] == ["body.burn_slots_by_name", "body.helpers"]


# Names.

SPELLINGS = [
    # as it was given, as it is looked for
    ("Zoé", "zoé"),
    ("Zoé", "ZOÉ"),
    ("Zoé", "Zoe\u0301"),
    ("Zoé", "  Zoé "),
    ("Zoé", "Ｚｏé"),
    ("L’Ombre", "L'Ombre"),
    ("L'Ombre", "l’ombre"),
    ("L'Ombre", "lʼombre"),
    ("Großer", "GROSSER"),
    ("🐉 Drache", "🐉 drache"),
    ("شهرزاد", "شهرزاد"),
    ("משה", "משה"),
    ("@everyone", "@EVERYONE"),
    ("<b>Max</b>", "<B>max</B>"),
    ("a" * 64, "A" * 64),
    ("e\u0301\u0302\u0303\u0304", "e\u0301\u0302\u0303\u0304"),
]


@pytest.mark.parametrize(("given", "sought"), SPELLINGS)
async def test_a_name_is_found_however_it_is_typed(client, given, sought):
    table = await Table.open(client)
    added = await table.ask("POST /characters", {"name": given})
    assert added.status_code == 201, added.text
    (found,) = (await table.get("/characters", name=sought))["characters"]
    assert found["id"] == added.json()["id"]
    assert found["name"] == added.json()["name"]
    problem(await table.ask("POST /characters", {"name": sought}), 422, "invalid-request")


BAD_NAMES = ["", " ", "a" * 65, "e" + "\u0301" * 5, "a\x00b", "a\nb", "\u202eabc", "\u2066a", "\u200f", None, 3, ["a"]]


@pytest.mark.parametrize("name", BAD_NAMES)
async def test_a_name_that_cannot_be_kept(table, name):
    told = problem(await table.ask("POST /characters", {"name": name}), 422, "invalid-request")
    assert told["errors"][0]["at"] == "body.name"
    assert len((await table.get("/characters"))["characters"]) == 2


NOT_THERE = [
    # what asks for somebody or something, the member that names it, and what is near
    ("GET /characters", {"query": {"name": "Zo"}}, "query.name", ["Zoé"]),
    ("GET /characters", {"query": {"name": "Bob"}}, "query.name", []),
    ("GET /cards", {"query": {"character": "zo"}}, "query.character", ["zoe"]),
    ("GET /characters/zo", {}, "path.character", ["zoe"]),
    ("GET /characters/Zoé", {}, "path.character", ["zoe"]),
    ("POST /characters/Zoé/sixd6/rolls", {"base": 1}, "path.character", ["zoe"]),
    ("PATCH /characters/ZOE/sixd6", {"adjust": {"damage": 1}}, "path.character", ["zoe"]),
    ("POST /sixd6/rolls", {"base": 1, "characters": ["max", "bob"]}, "body.characters[1]", []),
    ("POST /sixd6/damage", {"die": "d6", "characters": ["zoo", "max"]}, "body.characters[0]", ["zoe"]),
    ("POST /tokens", {"role": "player", "characters": ["bob"]}, "body.characters[0]", []),
    ("POST /characters/zoe/sixd6/healing", {"care": "calm_other", "carer": "maxx", "base": 1}, "body.carer", ["Max"]),
    ("POST /decks/light/draws", {"character": "bob"}, "body.character", []),
    ("GET /decks/légère", {}, "path.deck", ["light"]),
    ("POST /decks/Grave complications/draws", {}, "path.deck", ["grave"]),
    ("DELETE /tokens/zoe", {}, "path.token", []),
    ("GET /characters/zoe/sixd6", {}, "path.character", []),
    ("POST /characters/zoe/sixd6/damage/h9/soak", {"kind": "grit", "base": 1}, "path.hit", []),
    ("POST /events/9999/undo", {}, "path.event", []),
    ("GET /decks/lihgt", {}, "path.deck", ["light"]),
    ("GET /decks/tarot", {}, "path.deck", []),
]


@pytest.mark.parametrize(("line", "asked", "at", "near"), NOT_THERE)
async def test_who_is_not_there_is_answered_with_who_is(table, line, asked, at, near):
    body = {name: value for name, value in asked.items() if name != "query"}
    told = problem(await table.ask(line, body or None, **asked.get("query", {})), 404, "not-found")
    assert (told["nearest"], [error["at"] for error in told["errors"]]) == (near, [at])


@pytest.mark.parametrize(("name", "meant"), [("Zoé", "zoe"), ("ZOE", "zoe"), ("MAX", "max")])
async def test_who_gives_a_name_for_an_id_is_told_the_id(table, name, meant):
    for lang, said in (("en", "must be an id"), ("fr", "doit être un identifiant")):
        told = problem(await table.ask(f"POST /characters/{name}/sixd6/rolls", {"base": 1}, lang=lang), 404, "not-found")
        assert told["errors"][0]["problem"].startswith(said)
        assert told["errors"][0]["problem"].endswith(f": {meant}")


# Paths.

ODD = ["%00", "%2E%2E", "%FF", "%20", "Zo%C3%A9", "zoe%2Fmax", "a" * 65, "ZOE", "zoe ", "light-1", "-", "\u202e", "0" * 20]
BELOW = [
    "GET /characters/{}",
    "PATCH /characters/{}",
    "DELETE /characters/{}",
    "POST /characters/{}/sixd6/rolls",
    "GET /characters/{}/sixd6/healing",
    "DELETE /characters/zoe/sixd6/healing/{}",
    "GET /decks/{}",
    "DELETE /decks/{}",
    "POST /decks/{}/draws",
    "GET /events/{}",
    "DELETE /tokens/{}",
]


@pytest.mark.parametrize("line", BELOW)
async def test_an_odd_id_is_not_found(table, line):
    bodies = {"PATCH": {}, "POST": {"base": 1} if "rolls" in line else {}}
    for odd in ODD:
        answer = await table.ask(line.format(odd), bodies.get(line.split()[0]))
        problem(answer, 404, "not-found")


async def test_an_odd_session_is_opened_by_nobody(client, table):
    for odd in [*ODD, table.id.upper(), table.id + "0", table.id[:-1], f"{table.id}%00", "{" + table.id + "}", "*"]:
        answer = await Table(client, {"id": odd, "tokens": table.tokens}).ask("GET /state")
        assert answer.status_code in (401, 404), (odd, answer.text)


@pytest.mark.parametrize("line", ["PUT /characters/{}", "PUT /decks/{}"])
async def test_nothing_is_created_under_an_odd_id(table, line):
    body = own_deck() if "decks" in line else {"name": "Odd"}
    for odd in ("A", "é", "a" * 65, "a b", "a_b", "a.b", "a:b", "%00", "a%0A"):
        assert (await table.ask(line.format(odd), body)).status_code in (404, 422), odd
    state = await table.get("/state")
    assert [each["deck"] for each in state["decks"]] == ["grave", "light"]
    assert len(state["characters"]) == 2


# Cards.


async def test_a_draw_of_more_than_is_left_moves_nothing(table):
    await table.ask("PUT /decks/own", own_deck())
    await table.ask("POST /decks/own/draws", {"count": 2, "table": True})
    before = await table.get("/decks/own")
    problem(await table.ask("POST /decks/own/draws", {"count": 3}), 409, "deck-exhausted", wanted=3, left=2)
    assert await table.get("/decks/own") == before


async def test_a_card_is_discarded_once(table):
    card = (await table.ask("POST /decks/light/draws", {"character": "zoe"})).json()["cards"][0]["id"]
    assert (await table.ask("POST /discards", {"cards": [card]})).status_code == 200
    problem(await table.ask("POST /discards", {"cards": [card]}), 409, "card-not-there", card=card)
    problem(await table.ask("POST /discards", {"cards": [card, card]}), 422, "invalid-request")


FOREIGN = ["light-999", "grave-1", "own-1", "light-", "light", "-1", "light-01", "light--1", "LIGHT-1", "é-1", "0"]


async def test_a_card_of_elsewhere_is_not_there(client, table):
    elsewhere = await Table.open(client)
    await elsewhere.ask("PUT /decks/theirs", own_deck())
    theirs = (await elsewhere.ask("POST /decks/theirs/draws", {"table": True})).json()["cards"][0]["id"]
    mine = (await table.ask("POST /decks/light/draws", {"character": "zoe"})).json()["cards"][0]["id"]
    for foreign in [*FOREIGN, theirs]:
        for way in ("discards", "returns"):
            answer = await table.ask(f"POST /decks/light/{way}", {"cards": [mine, foreign]})
            problem(answer, 409, "card-not-there", card=foreign)
    problem(await table.ask("POST /decks/grave/discards", {"cards": [mine]}), 409, "card-not-there", card=mine)
    assert [card["id"] for card in (await table.get("/cards"))["cards"]] == [mine]


async def test_a_deck_in_use_is_neither_replaced_nor_deleted(table):
    await table.ask("PUT /decks/own", own_deck())
    await table.ask("POST /decks/own/draws", {"character": "zoe"})
    before = await table.get("/decks/own")
    problem(await table.ask("PUT /decks/own", own_deck(2)), 409, "deck-in-use", active=1)
    problem(await table.ask("DELETE /decks/own"), 409, "deck-in-use", active=1)
    assert await table.get("/decks/own") == before


async def test_cards_of_a_replaced_deck_are_never_cards_of_the_new_one(table):
    await table.ask("PUT /decks/own", own_deck())
    old = (await table.ask("POST /decks/own/draws", {"count": 4})).json()["cards"]
    await table.ask("PUT /decks/own", own_deck())
    new = (await table.ask("POST /decks/own/draws", {"count": 4})).json()["cards"]
    assert not {card["id"] for card in old} & {card["id"] for card in new}
    problem(await table.ask("POST /decks/own/returns", {"cards": [old[0]["id"]]}), 409, "card-not-there")


async def test_a_character_with_cards_stays(table):
    await table.ask("POST /decks/light/draws", {"count": 2, "character": "zoe"})
    problem(await table.ask("DELETE /characters/zoe"), 409, "character-in-use", active=2)
    await table.ask("POST /discards", {"character": "zoe"})
    assert (await table.ask("DELETE /characters/zoe")).status_code == 200
    problem(await table.ask("GET /characters/zoe"), 404, "not-found")


async def test_the_games_decks_are_nobodys_to_replace(table):
    for line, body in (("PUT /decks/light", own_deck()), ("DELETE /decks/grave", None)):
        problem(await table.ask(line, body), 422, "invalid-request")


# Quotas.


async def test_a_table_has_100_characters(client):
    table = await Table.open(client, characters=[f"c{number}" for number in range(100)])
    problem(await table.ask("POST /characters", {"name": "one too many"}), 409, "quota-exceeded", most=100)
    problem(await table.ask("PUT /characters/new", {"name": "one too many"}), 409, "quota-exceeded", most=100)
    assert (await table.ask("PUT /characters/c0", {"name": "replaced"})).status_code == 200
    too_many = await client.post("/v1/sessions", json={"characters": [f"c{number}" for number in range(101)]})
    problem(too_many, 422, "invalid-request")


async def test_a_table_has_20_decks_of_500_cards(table):
    for number in range(18):
        assert (await table.ask(f"PUT /decks/own-{number}", own_deck(125))).is_success
    problem(await table.ask("PUT /decks/one-too-many", own_deck()), 409, "quota-exceeded", most=20)
    problem(await table.ask("PUT /decks/own-1", own_deck(126)), 409, "quota-exceeded", most=500)
    assert len((await table.get("/decks"))["decks"]) == 20


async def test_a_table_has_50_tokens(table):
    for _ in range(48):
        assert (await table.ask("POST /tokens", {"role": "observer"})).status_code == 201
    problem(await table.ask("POST /tokens", {"role": "observer"}), 409, "quota-exceeded", most=50)
    assert len((await table.get("/tokens"))["tokens"]) == 50


# The clock and the log.


async def test_the_clock_is_paused_resumed_and_advanced(client):
    table = await Table.open(client, clock="paused")
    assert (await table.get("/clock"))["elapsed_seconds"] == 0
    for running, body in (
        (False, {"action": "pause"}),
        (False, {"action": "advance", "seconds": 28_800}),
        (True, {"action": "resume"}),
        (True, {"action": "resume"}),
        (False, {"action": "pause"}),
        (False, {"action": "pause"}),
    ):
        answer = await table.ask("POST /clock", body)
        assert (answer.status_code, answer.json()["running"]) == (200, running)
    stopped = (await table.get("/clock"))["elapsed_seconds"]
    assert 28_800 <= stopped < 28_800 + 600
    assert (await table.get("/clock"))["elapsed_seconds"] == stopped


BAD_MOVES = [
    {},
    {"action": "back"},
    {"action": "advance"},
    {"action": "advance", "seconds": 0},
    {"action": "advance", "seconds": -1},
    {"action": "advance", "seconds": 31_536_001},
    {"action": "advance", "seconds": 1.0},
    {"action": "pause", "seconds": 1},
]


@pytest.mark.parametrize("body", BAD_MOVES)
async def test_the_clock_is_not_moved_otherwise(table, body):
    problem(await table.ask("POST /clock", body), 422, "invalid-request")


async def test_the_state_is_a_cursor_for_what_follows(table):
    await table.ask("POST /decks/light/draws", {"character": "zoe"})
    last = (await table.get("/state"))["last_event"]
    assert (await table.get("/events", after=last))["events"] == []
    await table.ask("POST /discards", {"character": "zoe"})
    (event,) = (await table.get("/events", after=last))["events"]
    assert (event["type"], event["actor"]["role"]) == ("cards.discarded", "gm")
    assert (await table.get(f"/events/{event['id']}"))["data"] == event["data"]


async def test_pages_of_the_log_meet(table):
    for _ in range(7):
        await table.ask("POST /decks/light/draws", {})
    for order in ("asc", "desc"):
        seen, cursor, more = [], {}, True
        while more:
            page = await table.get("/events", limit=3, order=order, **cursor)
            seen += [int(event["id"]) for event in page["events"]]
            cursor, more = {"after": page["next"]}, page["has_more"]
        assert seen == sorted(range(2, 9), reverse=order == "desc")


async def test_a_cursor_that_is_too_old_is_gone(table, redis):
    for _ in range(5):
        await table.ask("POST /decks/light/draws", {})
    await redis.xtrim(keys.log(table.id), maxlen=2, approximate=False)
    problem(await table.ask("GET /events", after="2"), 410, "cursor-expired")
    assert len((await table.get("/events", after="4"))["events"]) == 2
    assert len((await table.get("/events"))["events"]) == 2
    problem(await table.ask("GET /events/2"), 404, "not-found")


async def test_of_a_cursor_it_is_said_what_it_is(table):
    for told in ({"after": "abc"}, {"headers": {"Last-Event-ID": "abc", "Accept": "text/event-stream"}}):
        (error,) = problem(await table.ask("GET /events", **told), 422, "invalid-request")["errors"]
        assert error["problem"].startswith("must be the id of an event")


BAD_CURSORS = [
    *({"after": cursor} for cursor in ("-1", "x", "1-0", "1" * 16, "１")),
    *({"limit": limit} for limit in (0, 501, "1.0")),
    {"order": "x"},
]


@pytest.mark.parametrize("query", BAD_CURSORS)
async def test_a_cursor_that_cannot_be_one(table, query):
    problem(await table.ask("GET /events", **query), 422, "invalid-request")


async def test_every_answer_of_a_table_is_not_kept_by_caches(table):
    for line in ("GET /state", "GET /events", "GET ", "GET /tokens", "GET /tokens/me"):
        assert (await table.ask(line)).headers["Cache-Control"] == "no-store"


async def test_a_session_answers_no_head(client, table):
    gm = {"Authorization": f"Bearer {table.tokens['gm']}"}
    assert (await client.head(f"/v1/sessions/{table.id}/state", headers=gm)).status_code == 405


@pytest.mark.parametrize(
    ("media", "body", "status"),
    [
        (None, b"", 200),
        ("application/octet-stream", b"", 200),  # aiohttp says so of no body
        ("application/octet-stream", b"{}", 415),
        ("text/plain", b"", 200),
        ("text/plain", b"{}", 415),
        ("application/json", b"", 200),
        ("application/json", b"\n", 200),
        ("application/x-www-form-urlencoded", b"", 200),
        ("application/json", b"{}", 200),
    ],
)
async def test_where_nothing_need_be_told_no_body_need_be_sent(table, media, body, status):
    headers = {"Content-Type": media} if media else {}
    headers["Authorization"] = f"Bearer {table.tokens['gm']}"
    url = f"/v1/sessions/{table.id}/scene/end"
    assert (await table.client.post(url, content=body, headers=headers)).status_code == status


# What is read again, and what only text shows.


async def test_a_secret_is_shown_also_to_who_asks_for_text(table):
    opened = await table.client.post("/v1/sessions?format=text", json={"lang": "fr"})
    sentence, session, gm, player = opened.text.splitlines()
    assert sentence.startswith("La table est ouverte")
    again = Table(table.client, {"id": session, "tokens": {"gm": gm, "player": player}})
    assert [(await again.get("/tokens/me", by=role))["role"] for role in ("gm", "player")] == ["gm", "player"]
    minted = await table.ask("POST /tokens?format=text", {"role": "observer"})
    table.tokens["minted"] = minted.text.splitlines()[1]
    assert (await table.get("/tokens/me", by="minted"))["role"] == "observer"


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("limit", [1, 2, 500])
async def test_a_page_is_filled_with_what_its_reader_may_see(table, order, limit):
    """Tokens are minted for the gm's eyes: a page of others is not empty because of them."""
    for turn in range(6):
        await table.ask("POST /tokens", {"role": "observer"})
        await table.ask("POST /tokens", {"role": "observer"})
        await table.ask("POST /decks/light/draws", {"table": True}, key=f"draw-{turn}")
    read, after = [], ""
    while True:
        page = await table.get(f"/events?limit={limit}&order={order}{after}", by="player")
        read += [event["id"] for event in page["events"]]
        assert len(page["events"]) == limit or not page["has_more"]
        if not page["has_more"]:
            break
        after = f"&after={page['next']}"
    whole = [event["id"] for event in (await table.get("/events", by="player"))["events"]]
    assert len(whole) == 6
    assert read == (whole if order == "asc" else whole[::-1])


@pytest.mark.parametrize(
    ("sheet", "body", "changed"),
    [
        ("sixd6", {}, {"damage": 1}),
        ("burn2d6", {"stats": {"move": {"value": 5}}}, {"stats": {"move": {"value": 6}}}),
    ],
)
async def test_a_sheet_is_not_sent_again_to_who_has_it(table, sheet, body, changed):
    path = f"/characters/zoe/{sheet}"
    tag = (await table.ask(f"PUT {path}", body)).headers["ETag"]
    assert (await table.ask(f"GET {path}", headers={"If-None-Match": tag})).status_code == 304
    await table.ask(f"PUT {path}", body)  # as it is: nothing is changed
    assert (await table.ask(f"GET {path}", headers={"If-None-Match": tag})).status_code == 304
    await table.ask(f"PUT {path}", changed)
    assert (await table.ask(f"GET {path}", headers={"If-None-Match": tag})).status_code == 200


DRAWS = [
    # where the card goes, and how that is said
    ({}, (None, False), "1 card drawn to the discard pile: ", "1 carte tirée vers la défausse\u202f: "),
    ({"table": True}, (None, True), "1 card drawn for the whole table: ", "1 carte tirée pour toute la table\u202f: "),
    ({"character": "zoe"}, ("zoe", False), "1 card drawn for Zoé: ", "1 carte tirée pour Zoé\u202f: "),
]


@pytest.mark.parametrize(("body", "where", "english", "french"), DRAWS)
async def test_a_draw_says_where_the_card_went(table, body, where, english, french):
    for lang, said in (("en", english), ("fr", french)):
        drawn = (await table.ask("POST /decks/light/draws", body, lang=lang)).json()
        assert (drawn["character"], drawn["table"]) == where
        assert drawn["text"].startswith(said)


async def test_a_session_s_own_answers_tell_in_which_language_they_speak(table):
    await table.ask("PATCH ", {"lang": "fr"})
    for line in ("GET ", "DELETE "):
        assert (await table.ask(line)).headers["Content-Language"] == "fr"


async def test_a_wrong_token_in_an_address_is_told_where_tokens_go(table):
    for path in (f"/v1/quick/{table.id}/roll?base=3&token=bad", f"/v1/quick/{table.id}/roll?base=3"):
        answer = await table.client.get(path)
        assert (answer.status_code, "token=…" in answer.text) == (401, True)
    table.tokens["chat"] = (await table.mint("chat", "chat"))["token"]
    asked = {"Authorization": f"Bearer {table.tokens['chat']}"}
    assert (await table.client.get(f"/v1/quick/{table.id}/roll?base=3", headers=asked)).status_code == 200


async def test_a_paused_clock_is_said_with_the_timers(table):
    await table.ask("POST /characters/zoe/sixd6/healing", {"care": "treat_damage", "base": 3, "damage": 4})
    await table.ask("POST /clock", {"action": "pause"})
    assert "of session time; the clock is paused." in (await table.get("/characters/zoe/sixd6/healing"))["text"]


async def test_an_own_deck_is_called_by_its_name(table):
    put = (await table.ask("PUT /decks/own", own_deck(name="Critiques"))).json()
    assert put["event"] == (await table.get("/state"))["last_event"]
    shuffled = (await table.ask("POST /decks/own/shuffles", {})).json()
    assert (shuffled["name"], "Critiques" in shuffled["text"]) == ("Critiques", True)


# What a table may hold, whichever way it comes.


async def many(table, line, bodies):
    return [(await table.ask(line, body)).json() for body in bodies]


QUOTAS = [
    # what is made, how many there may be, how one goes
    ("POST /characters", lambda n: {"name": f"N{n}"}, 98, "DELETE /characters/{id}"),
    ("POST /tokens", lambda n: {"role": "observer"}, 48, "DELETE /tokens/{id}"),
    ("POST /opponents", lambda n: {"name": f"O{n}", "burn_max": 5}, 100, "DELETE /opponents/{id}"),
    ("PUT /decks/d{n}", lambda n: own_deck(), 18, "DELETE /decks/d0"),
]


@pytest.mark.parametrize(("line", "body", "most", "delete"), QUOTAS)
async def test_an_undo_fills_no_table_beyond_its_quota(table, line, body, most, delete):
    made = [(await table.ask(line.format(n=n), body(n))).json() for n in range(most)]
    gone = await table.ask(delete.format(id=made[0].get("id")))
    event = (await table.get("/state"))["last_event"]
    assert (await table.ask(line.format(n=most), body(most))).is_success, gone.text
    answer = await table.ask(f"POST /events/{event}/undo", {})
    assert problem(answer, 409, "quota-exceeded")["most"]
    assert problem(await table.ask(line.format(n=most + 1), body(most + 1)), 409, "quota-exceeded")


async def test_a_character_to_whom_a_token_is_bound_is_not_undone_away(table):
    made = (await table.ask("POST /characters", {"name": "Tmp"})).json()
    minted = await table.mint("bound", "player", characters=["tmp"])
    answer = problem(await table.ask(f"POST /events/{made['event']}/undo", {}), 409, "cannot-undo")
    assert len(answer["later"]) == 1
    await table.ask(f"DELETE /tokens/{minted['id']}")
    assert (await table.ask(f"POST /events/{answer['later'][0]}/undo", {})).status_code == 409  # nor is the token's end


async def test_hits_that_wait_are_not_dropped_for_new_ones(table):
    asked = {"die": "d8", "faces": [5], "wait": "soak"}
    hits = await many(table, "POST /characters/zoe/sixd6/damage", [asked] * 50)
    full = problem(await table.ask("POST /characters/zoe/sixd6/damage", asked), 409, "quota-exceeded", most=50)
    assert "hits that wait" in full["text"]
    soaked = await table.ask(f"POST /characters/zoe/sixd6/damage/{hits[0]['hit']}/soak", {"kind": "none"})
    assert soaked.status_code == 200
    assert (await table.ask("POST /characters/zoe/sixd6/damage", asked)).status_code == 200


async def test_a_clock_goes_only_as_far_as_its_time_is_counted(table, redis):
    raw = {"elapsed_ms": 10**13 - 3_000_000}
    await redis.hset(keys.session(table.id), "clock", msgspec.json.encode(raw))
    await table.ask("POST /clock", {"action": "pause"})
    answer = await table.ask("POST /clock", {"action": "advance", "seconds": 3_600})
    assert problem(answer, 422, "invalid-request")["errors"][0]["at"] == "body.seconds"
    assert (await table.ask("POST /clock", {"action": "advance", "seconds": 2_999})).status_code == 200
    assert (await table.ask("GET /state")).status_code == 200


async def test_a_sentence_has_at_most_ten_thousand_characters(table):
    names = [{"name": f"Somebody of number {n}"} for n in range(98)]
    await many(table, "POST /characters", names)
    rolled = await table.ask("POST /sixd6/rolls", {"characters": "present", "base": 6, "red": 6})
    assert rolled.status_code == 200
    assert 9_000 < len(rolled.json()["text"]) <= 10_000
    (event,) = (await table.get("/events?limit=1&order=desc"))["events"]
    assert 9_000 < len(event["text"]) <= 10_000


async def test_an_event_that_cannot_be_read_hides_no_other(table, redis):
    await table.ask("POST /decks/light/draws", {"table": True})
    told = {"type": "cards.drawn", "at_ms": 1, "elapsed_ms": 1, "actor": {"role": "gm", "token": "t"}, "data": {"deck": 7}}
    await redis.xadd(keys.log(table.id), {"event": msgspec.json.encode(told), "before": b"{}"}, id="9-0")
    events = (await table.get("/events"))["events"]
    assert [each["redacted"] for each in events[-2:]] == [False, True]
    assert events[-1]["text"] == "This entry of the log cannot be read."


# A secret card is not there for who may not see it.

TOUCHES = [
    ("POST /discards", {"cards": ["{card}", "light-0"]}, "{card}"),
    ("POST /decks/light/discards", {"cards": ["{card}"]}, "{card}"),
    ("POST /decks/light/returns", {"cards": ["{card}"]}, "{card}"),
    ("POST /cards/{card}/apply", {}, "{card}"),
    ("POST /cards/{card}/apply", {"by_lot": True}, "{card}"),
]


@pytest.mark.parametrize("role", ["player", "chat", "bound"])
@pytest.mark.parametrize(("line", "body", "named"), TOUCHES)
async def test_a_secret_card_cannot_be_told_from_one_in_the_pile(table, role, line, body, named):
    await table.mint("chat", "chat")
    await table.mint("bound", "player", characters=["max"])
    drawn = (await table.ask("POST /decks/light/draws", {"character": "zoe", "visibility": "gm"})).json()
    secret = drawn["cards"][0]["id"]
    other = next(f"light-{n}" for n in range(1, 44) if f"light-{n}" != secret)
    answers = []
    for card in (secret, other):
        told = {**body, **({"cards": [each.format(card=card) for each in body["cards"]]} if "cards" in body else {})}
        answer = await table.ask(line.format(card=card), told, by=role)
        answers.append((answer.status_code, answer.text.replace(card, "…")))
    assert answers[0] == answers[1]
    assert (await table.get("/decks/light"))["active"] == 1


async def test_who_cannot_see_a_secret_card_leaves_it_where_it_is(table):
    await table.ask("POST /decks/light/draws", {"character": "zoe", "visibility": "gm"})
    await table.ask("POST /decks/light/draws", {"character": "zoe"})
    gone = (await table.ask("POST /discards", {"character": "zoe"}, by="player")).json()
    assert len(gone["cards"]) == 1
    assert len((await table.ask("POST /discards", {"character": "zoe"})).json()["cards"]) == 1


# A key under which nothing was to be changed.


async def test_a_repetition_of_what_changed_nothing_changes_nothing(table):
    first = await table.ask("POST /discards", {"character": "zoe"}, key="k")
    await table.ask("POST /decks/light/draws", {"character": "zoe"})
    again = await table.ask("POST /discards", {"character": "zoe"}, key="k")
    assert (again.json(), again.headers.get("Idempotency-Replayed")) == (first.json(), "true")
    assert (await table.get("/decks/light"))["active"] == 1
    problem(await table.ask("POST /scene/end", {}, key="k"), 422, "idempotency-key-reused")


async def test_pausing_twice_under_a_key_is_pausing_once(table):
    await table.ask("POST /clock", {"action": "pause"})
    await table.ask("POST /clock", {"action": "pause"}, key="k")
    await table.ask("POST /clock", {"action": "resume"})
    assert (await table.ask("POST /clock", {"action": "pause"}, key="k")).headers["Idempotency-Replayed"] == "true"
    assert (await table.get("/clock"))["running"] is True


# Input that is nearly right.

NEARLY = [
    ("POST /sixd6/rolls", {"characters": ["zoe", "zoe"], "base": 1}, "body.characters"),
    ("POST /sixd6/damage", {"characters": ["zoe", "zoe"], "die": "d6"}, "body.characters"),
    ("POST /tokens", {"role": "player", "characters": ["zoe", "zoe"]}, "body.characters"),
    ("POST /characters", {"name": "\u3164"}, "body.name"),
    ("POST /characters", {"name": "\u2800 \u115f"}, "body.name"),
    ("PUT /characters/A_b", {"name": "A"}, "path.character"),
]


@pytest.mark.parametrize(("line", "body", "at"), NEARLY)
async def test_what_is_nearly_right_is_refused(table, line, body, at):
    answer = problem(await table.ask(line, body), 422, "invalid-request")
    assert [error["at"] for error in answer["errors"]] == [at]


async def test_a_packed_body_is_refused_in_words(table):
    answer = await table.ask("POST /sixd6/rolls", {"base": 1}, headers={"Content-Encoding": "gzip"})
    assert problem(answer, 415, "unsupported-media-type")["errors"][0]["at"] == "header.Content-Encoding"


# A table that has moved.


async def test_what_was_secret_is_the_gm_s_after_an_import(table):
    hit = {"die": "d6", "faces": [5], "wait": "soak", "visibility": "self"}
    await table.ask("POST /characters/zoe/sixd6/damage", hit, by="player")
    await table.ask("POST /decks/light/draws", {"character": "zoe", "visibility": "self"}, by="player")
    exported = await table.get("/export")
    again = (await table.client.post("/v1/sessions", json={"import": exported})).json()
    moved = Table(table.client, again)
    state = await moved.get("/state")
    assert (len(state["hits"]), len((await moved.get("/cards"))["cards"])) == (1, 1)
    assert (await moved.get("/state", by="player"))["hits"] == []
    hit = state["hits"][0]["hit"]
    assert (await moved.ask(f"POST /characters/zoe/sixd6/damage/{hit}/soak", {"kind": "none"})).status_code == 200


UNREADABLE = [
    # what is wrong with a record, where, and how that is said in French
    ({"damage": "28"}, ".damage", "doit être un nombre entier"),
    ({"aptitudes": {"strength": 1}}, ".aptitudes.strength", "doit être l’une de ces valeurs"),
    ({"protections": ["heavy", "heavy"]}, "", "est donné plus d’une fois"),
]


@pytest.mark.parametrize(("wrong", "at", "said"), UNREADABLE)
async def test_a_record_that_cannot_be_read_is_refused_at_its_member(table, wrong, at, said):
    exported = await table.get("/export")
    exported["records"]["s:zoe"] = {"version": 1, **wrong}
    answer = await table.client.post("/v1/sessions", json={"import": exported}, params={"lang": "fr"})
    (error,) = problem(answer, 422, "invalid-request")["errors"]
    assert error["at"] == f"body.import.records.s:zoe{at}"
    assert said in error["problem"]


async def test_a_key_that_stands_twice_is_found_in_the_depth_of_a_record(client):
    body = b'{"import": {"format": 1, "exported_ms": 1, "records": {"s:zoe": {"damage": 1, "damage": 2}}}}'
    answer = await client.post("/v1/sessions", content=body, headers={"Content-Type": "application/json"})
    assert [each["at"] for each in problem(answer, 422, "invalid-request")["errors"]] == ["body.import.records.s:zoe.damage"]


async def test_a_closed_set_is_told_also_where_it_lies_deeper(client):
    answer = await client.post("/v1/sessions", json={"settings": {"reshuffle": "jamais"}})
    assert "when_empty, never" in problem(answer, 422, "invalid-request")["errors"][0]["problem"]


# What chats type.


@pytest.mark.parametrize("name", ["jean luc", "Jean-Luc", "@jean-luc", "JEAN\u2019LUC.", '"jean luc"'])
async def test_a_name_is_found_as_a_chat_types_it(table, name):
    await table.ask("POST /characters", {"name": "Jean-Luc"})
    await table.mint("chat", "chat")
    asked = {"base": 2, "character": name, "token": table.tokens["chat"]}
    answer = await table.client.get(f"/v1/quick/{table.id}/roll", params=asked)
    assert answer.text.startswith("Jean-Luc: "), answer.text


async def test_a_chat_discards_a_card_by_the_name_it_was_shown(table):
    await table.mint("chat", "chat")
    drawn = (await table.ask("POST /decks/light/draws", {"character": "zoe", "count": 2}, lang="fr")).json()["cards"]
    for shown in (drawn[0]["name"].upper(), drawn[1]["card"]):
        asked = {"cards": shown, "token": table.tokens["chat"]}
        answer = await table.client.get(f"/v1/quick/{table.id}/discard", params=asked)
        assert answer.status_code == 200, answer.text
    assert (await table.get("/decks/light"))["active"] == 0


NOTHING = [
    ("PATCH ", {}),
    ("PATCH /characters/zoe", {}),
    ("PUT /characters/zoe", {"name": "Zoé"}),
    ("PATCH /characters/zoe/sixd6", {"damage": 0}),
    ("PUT /characters/zoe/sixd6", {}),
    ("PATCH /characters/max/burn2d6", {"adjust": {"move": 0}}),
]


@pytest.mark.parametrize(("line", "body"), NOTHING)
async def test_where_there_is_nothing_to_change_nothing_is_told(table, line, body):
    await table.ask("PUT /characters/zoe/sixd6", {})
    await table.ask("PUT /characters/max/burn2d6", {"stats": {"move": {"value": 5}}})
    before = (await table.get("/state"))["last_event"]
    answer = await table.ask(line, body)
    assert answer.status_code == 200, answer.text
    assert answer.json().get("event") is None
    assert (await table.get("/state"))["last_event"] == before


# Undo: nothing is left that no step could have made.


async def steps(table, *lines):
    """The ids of the events that these made."""
    made = []
    for line, body in lines:
        answer = await table.ask(line, body)
        assert answer.is_success, (line, answer.text)
        made.append((await table.get("/state"))["last_event"])
    return made


ADVANCED = ("POST /clock", {"action": "advance", "seconds": 7_200})
HEALED = ("POST /characters/zoe/sixd6/healing", {"care": "calm_self", "base": 3, "trauma": 4})


async def test_a_healing_is_not_redone_ahead_of_the_clock(table):
    await table.ask("POST /clock", {"action": "pause"})
    advanced, healed = await steps(table, ADVANCED, HEALED)
    (undone, moved_back) = await steps(table, (f"POST /events/{healed}/undo", {}), (f"POST /events/{advanced}/undo", {}))
    answer = problem(await table.ask(f"POST /events/{undone}/undo", {}), 409, "cannot-undo")
    assert answer["later"] == [moved_back]
    exported = await table.get("/export")
    assert (await table.client.post("/v1/sessions", json={"import": exported})).status_code == 201


async def test_a_card_whose_mark_is_in_force_is_not_undone_away(table):
    await table.ask("PUT /decks/own", own_deck())  # so that event ids and numbers of cards differ
    for _ in range(18):
        drawn = (await table.ask("POST /decks/grave/draws", {"table": True})).json()
        if drawn["cards"][0]["card"] == "team-breakdown":
            break
    applied = (await table.ask(f"POST /cards/{drawn['cards'][0]['id']}/apply", {})).json()
    answer = problem(await table.ask(f"POST /events/{drawn['event']}/undo", {}), 409, "cannot-undo")
    assert applied["event"] in answer["later"]


async def test_what_was_somebody_s_does_not_come_back_to_who_came_later(table):
    minted = await table.mint("zoe", "player", characters=["zoe"])
    revoked, _, came = await steps(
        table,
        (f"DELETE /tokens/{minted['id']}", None),
        ("DELETE /characters/zoe", None),
        ("PUT /characters/zoe", {"name": "Zoltan"}),
    )
    answer = problem(await table.ask(f"POST /events/{revoked}/undo", {}), 409, "cannot-undo")
    assert came in answer["later"]


async def test_a_step_that_changed_no_field_is_taken_back_once(table):
    rolled = (await table.ask("POST /sixd6/rolls", {"base": 2})).json()["event"]
    undone = (await table.ask(f"POST /events/{rolled}/undo", {})).json()["event"]
    answer = problem(await table.ask(f"POST /events/{rolled}/undo", {}), 409, "cannot-undo")
    assert answer["later"] == [undone]


async def test_a_secret_roll_leaves_no_mark_that_others_see(table):
    await table.ask("PUT /characters/zoe/sixd6", {"aptitudes": {"control": 1}, "qualifications": {"wetware": 1}})
    for _ in range(18):
        drawn = (await table.ask("POST /decks/grave/draws", {"table": True})).json()
        if drawn["cards"][0]["card"] == "team-breakdown":
            break
    await table.ask(f"POST /cards/{drawn['cards'][0]['id']}/apply", {})
    before = (await table.get("/state", by="player"))["scene"]
    asked = {"aptitude": "control", "qualification": "wetware", "visibility": "gm"}
    assert (await table.ask("POST /characters/zoe/sixd6/rolls", asked)).status_code == 200
    assert (await table.get("/state", by="player"))["scene"] == before


async def test_a_use_that_comes_again_counts_for_the_life_of_its_session(table, redis):
    """Its time stands still, so that a step is judged twice."""
    seconds, _ = await redis.time()
    await redis.hset(keys.session(table.id), "seen", (seconds + 600) * 1_000)
    await table.get("/state")
    await asyncio.sleep(0.01)
    assert (await table.ask("POST /decks/light/draws", {})).status_code == 200
    assert await redis.pttl(keys.session(table.id)) > 2 * 86_400_000
