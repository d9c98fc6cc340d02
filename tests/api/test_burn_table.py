"""Burn 2d6 at a table, over HTTP: a whole evening, what is refused, who sees what, and two clients at once."""

import asyncio

import pytest

from service.api.burn import COMMANDS
from tests.live import Table

pytestmark = pytest.mark.anyio

ZOE, MAX = "/characters/zoe/burn2d6", "/characters/max/burn2d6"
SHEET = {
    "stats": {
        "move": {"value": 7},
        "soul": {"value": 4, "burned": 3},
        "eyes": {"value": 8, "burned": 0},
        "heart": {"value": 5},
    },
    "slots": [{"name": "Jetpack", "value": 3}],
}
OGRE = {"name": "Ogre", "burn_max": 5, "action_difficulty": 1}

# B1 to B5, one after the other. Burns are told as they stand after the step.
EVENING = [
    # request, body, what its answer says
    ("POST /opponents", OGRE, {"id": "ogre", "burns": 0, "defeated": False}),
    (f"PUT {ZOE}", SHEET, {"surge": True, "extra_dice": 0, "burned_out_stats": []}),
    (
        f"POST {ZOE}/rolls",  # two dice and the ogre's
        {"stat": "move", "opponent": "ogre", "faces": [6, 5, 4]},
        {"outcome": "failure", "rolled": 3, "total": 15},
    ),
    (
        f"POST {ZOE}/rolls",  # 3 - 1 of the stat - 1 of the slot
        {"stat": "eyes", "burn_stat": 1, "burn_slots_by_name": {"jetpack": 1}, "opponent": "OGRE", "opponent_burns": 3}
        | {"faces": [5]},
        {"outcome": "success", "burned": {"before": 0, "after": 1}, "surge": True},
    ),
    (
        f"POST {ZOE}/rolls",  # the surge is lost
        {"stat": "move", "spend_surge": True, "faces": [3]},
        {"outcome": "success", "surge_spent": True, "surge": False},
    ),
    (
        f"POST {ZOE}/damage",  # a stat burns out, and the jetpack takes what is left in it
        {"hit": {"soul": 3, "jetpack": 1}},
        {"overflow": 2, "burned_out_stats": ["soul"], "extra_dice": 1, "out_of_action": False},
    ),
    (
        f"POST {ZOE}/rolls",  # 2 + 1 for the soul - 1 of the heart - 1 helper; the surge is regained
        {"stat": "heart", "burn_stat": 1, "helpers": 1, "faces": [6]},
        {"outcome": "failure", "extra_dice": 1, "surge_regained": True, "surge": True},
    ),
    (f"POST {ZOE}/surge", {}, {"surge": False}),
    (
        f"POST {ZOE}/rolls",
        {"stat": "eyes", "opponent": "ogre", "opponent_burns": 4, "faces": [2, 1, 1, 3]},
        {"outcome": "success", "total": 7},
    ),
    (
        f"POST {ZOE}/build",  # 1 eyes, 1 soul, 1 heart; 2 of the jetpack; 1 stat
        {"rates": {"stat_burned_out": 4}, "close": True},
        {"stat_burns": 3, "slot_burns": 2, "stats_burned_out": 1, "build": 9, "default_rates": False, "closed": True},
    ),
    (f"POST {ZOE}/build", {}, {"build": 0, "default_rates": True, "closed": False}),
    ("POST /opponents/ogre/burns", {"points": 1}, {"defeated": True, "overflow": 1}),
    (f"PATCH {ZOE}", {"adjust": {"soul": -4, "jetpack": -2}, "surge": True}, {"surge": True, "extra_dice": 0}),
    ("PATCH /opponents/ogre", {"burns": None}, {"burns": 0, "defeated": False}),
    ("DELETE /opponents/ogre", None, {"id": "ogre"}),
]

# Of the events of the evening, the texts in both languages.
SAID = {
    "en": [
        "Ogre: burned 0/5. Adds 1 die to actions.",
        "Zoé: burned Move 0/7, Soul 3/4, Eyes 0/8, Heart 0/5, and Jetpack 0/3. Surge available.",
        "Zoé (Move) — Failure: 15 > 7. Dice: 6 5 4.",
        "Zoé (Eyes) — Success: 5 < 8. 1 point burned (1 of 8). Dice: 5. Jetpack: 1 point burned. Ogre takes 3 burns (3/5).",
        "Zoé (Move) — Success: 3 < 7. Surge spent. Dice: 3.",
        "Zoé — Burned: Soul 1 and Jetpack 1. Burned out: Soul. One more die on later actions. 2 points find no room.",
        "Zoé (Heart) — Failure: 6 > 5. 1 point burned (1 of 5). Surge regained. Dice: 6.",
        "Zoé spends the surge to bend the story.",
        "Zoé (Eyes) — Success: 7 < 8. Dice: 2 1 1 3. Ogre takes 2 burns (5/5). Ogre is defeated. 2 points find no room.",
        "Zoé — 9 build points. (Burns on stats 3 × 1, on slots 2 × 1, stats burned out 1 × 4.) "
        "The story is over: its count starts again.",
        "Ogre takes 0 burns (5/5). Ogre is defeated. 1 point finds no room.",
        "Zoé: burned Move 0/7, Soul 0/4, Eyes 1/8, Heart 1/5, and Jetpack 0/3. Surge available.",
        "Ogre: burned 0/5. Adds 1 die to actions.",
        "Ogre is gone.",
    ],
    "fr": [
        "Ogre\u202f: brûlures 0/5. Ajoute 1 dé aux actions.",
        "Zoé\u202f: brûlures Move 0/7, Soul 3/4, Eyes 0/8, Heart 0/5 et Jetpack 0/3. Surge disponible.",
        "Zoé (Move) — Échec\u202f: 15 > 7. Dés\u202f: 6 5 4.",
        "Zoé (Eyes) — Réussite\u202f: 5 < 8. 1 point brûlé (1 sur 8). Dés\u202f: 5. Jetpack\u202f: 1 point brûlé. "
        "Ogre subit 3 brûlures (3/5).",
        "Zoé (Move) — Réussite\u202f: 3 < 7. Surge dépensé. Dés\u202f: 3.",
        "Zoé — Brûlé\u202f: Soul 1 et Jetpack 1. Entièrement brûlé\u202f: Soul. Un dé de plus aux prochaines actions. "
        "2 points ne trouvent pas de place.",
        "Zoé (Heart) — Échec\u202f: 6 > 5. 1 point brûlé (1 sur 5). Surge regagné. Dés\u202f: 6.",
        "Zoé dépense son Surge pour infléchir l’histoire.",
        "Zoé (Eyes) — Réussite\u202f: 7 < 8. Dés\u202f: 2 1 1 3. Ogre subit 2 brûlures (5/5). Ogre est hors de combat. "
        "2 points ne trouvent pas de place.",
        "Zoé — 9 points de construction. (Brûlures de stats 3 × 1, de slots 2 × 1, stats entièrement brûlées 1 × 4.) "
        "L’histoire est finie\u202f: son décompte repart de zéro.",
        "Ogre subit 0 brûlure (5/5). Ogre est hors de combat. 1 point ne trouve pas de place.",
        "Zoé\u202f: brûlures Move 0/7, Soul 0/4, Eyes 1/8, Heart 1/5 et Jetpack 0/3. Surge disponible.",
        "Ogre\u202f: brûlures 0/5. Ajoute 1 dé aux actions.",
        "Ogre n’est plus là.",
    ],
}


async def told(table, line, body=None, **how):
    answer = await table.ask(line, body, **how)
    assert answer.is_success, answer.text
    return answer.json()


@pytest.fixture
async def at_table(table):
    """Zoé's sheet and the ogre are there."""
    await told(table, "POST /opponents", OGRE)
    await told(table, f"PUT {ZOE}", SHEET)
    return table


async def test_an_evening_with_given_faces(table):
    for line, body, expected in EVENING:
        answer = await told(table, line, body)
        assert {name: answer[name] for name in expected} == expected, line
    for lang, said in SAID.items():
        assert [event["text"] for event in (await table.get("/events", lang=lang))["events"]] == said


async def test_an_evening_with_the_services_dice(client):
    """Nothing is remembered here: the next move is decided on the last answer."""
    table = await Table.open(client, characters=["Zoé"])
    ogre = await told(table, "POST /opponents", OGRE)
    sheet = await told(table, f"PUT {ZOE}", SHEET, by="player")
    counted = {"stat_burns": 0, "slot_burns": 0}
    while not (ogre["defeated"] or sheet["out_of_action"]):
        burn = {} if sheet["stats"]["move"]["burned_out"] else {"burn_stat": 1}
        action = {"stat": "move", "opponent": "ogre", "spend_surge": sheet["surge"] and not sheet["extra_dice"], **burn}
        rolled = await told(table, f"POST {ZOE}/rolls", action, by="player")
        assert len(rolled["dice"]) == rolled["rolled"] == 3 + sheet["extra_dice"] - len(burn) - action["spend_surge"]
        assert rolled["surge"] is (rolled["surge_regained"] or (sheet["surge"] and not action["spend_surge"]))
        counted["stat_burns"] += len(burn)
        if rolled["outcome"] == "failure":
            hit = await told(table, f"POST {ZOE}/damage", {"hit": {"soul": 1, "heart": 1, "jetpack": 1}}, by="player")
            on_slots = [each["burns"] for each in hit["places"] if each["place"] == "Jetpack"]
            counted["slot_burns"] += sum(on_slots)
            counted["stat_burns"] += sum(each["burns"] for each in hit["places"]) - sum(on_slots)
        else:
            ogre = await told(table, "POST /opponents/ogre/burns", {"points": 1})
        sheet = await table.get(ZOE)
        assert all(each["burned"] <= each["value"] for each in [*sheet["stats"].values(), *sheet["slots"]])
    built = await told(table, f"POST {ZOE}/build", {"close": True}, by="player")
    assert {name: built[name] for name in counted} == counted
    assert built["stats_burned_out"] == len(sheet["burned_out_stats"])
    assert built["build"] == sum(counted.values()) + built["stats_burned_out"]
    assert set((await table.get(ZOE))["tally"].values()) == {0}


@pytest.mark.parametrize("lang", ["fr", "en"])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.id)
async def test_every_operation_answers_its_example_in_both_languages(at_table, command, lang):
    await told(at_table, f"PATCH {ZOE}", {"adjust": {"eyes": 1}})
    line = f"{command.method} {command.path.replace('{character:str}', 'zoe').replace('{opponent:str}', 'ogre')}"
    example = {**command.example, "name": "Troll"} if command.id == "addOpponent" else command.example
    answer = await told(at_table, line, example, lang=lang)
    assert answer["lang"] == lang
    assert answer["text"]


# Refusals.

REFUSED = [
    # request, body, status, code, member at fault
    (f"POST {ZOE}/rolls", {"stat": "move", "dice_count": 1, "spend_surge": True}, 422, "wasted-burn", "body.spend_surge"),
    (f"POST {ZOE}/rolls", {"stat": "soul", "burn_stat": 2}, 422, "burn-too-large", "body.burn_stat"),
    (
        f"POST {ZOE}/rolls",
        {"stat": "move", "dice_count": 5, "burn_slots_by_name": {"jetpack": 4}},
        422,
        "burn-too-large",
        "body.burn_slots_by_name.jetpack",
    ),
    (
        f"POST {ZOE}/rolls",
        {"stat": "move", "dice_count": 5, "action_difficulty": 1},
        422,
        "invalid-request",
        "body.dice_count",
    ),
    (f"POST {ZOE}/rolls", {"stat": "body"}, 422, "invalid-request", "body.stat"),
    (f"POST {ZOE}/rolls", {"stat": "move", "opponent_burns": 2}, 422, "invalid-request", "body.opponent"),
    (f"POST {ZOE}/rolls", {"stat": "move", "faces": [1]}, 422, "faces-mismatch", "body.faces[1]"),
    (f"POST {ZOE}/rolls", {"stat": "move", "opponent": "ogra"}, 404, "not-found", "body.opponent"),
    (f"POST {ZOE}/damage", {"hit": {"sword": 1}}, 422, "invalid-request", "body.hit.sword"),
    (f"POST {ZOE}/damage", {"hit": {}}, 422, "invalid-request", "body.hit"),
    (f"PATCH {ZOE}", {"adjust": {"soul": -4}}, 422, "invalid-request", "body.adjust.soul"),
    (f"PATCH {ZOE}", {"stats": {"move": {"burned": 9}}}, 422, "invalid-request", "body.stats.move.burned"),
    (f"PATCH {ZOE}", {"stats": None}, 422, "invalid-request", "body.stats"),
    (f"PUT {ZOE}", {"stats": {}}, 422, "invalid-request", "body.stats"),
    (f"PUT {ZOE}", {**SHEET, "slots": [{"name": "MOVE", "value": 1}]}, 422, "invalid-request", "body.slots[0].name"),
    (f"PUT {ZOE}", {**SHEET, "slots": [{"name": "a", "value": 1}] * 5}, 422, "invalid-request", "body.slots"),
    (f"POST {MAX}/rolls", {"stat": "move"}, 404, "not-found", "path.character"),
    (f"GET {MAX}", None, 404, "not-found", "path.character"),
    ("GET /opponents/ogra", None, 404, "not-found", "path.opponent"),
    ("POST /opponents", {"name": "OGRE", "burn_max": 1}, 422, "invalid-request", "body.name"),
    ("POST /opponents/ogre/burns", {"points": 0}, 422, "invalid-request", "body.points"),
    ("PATCH /opponents/ogre", {"burns": 6}, 422, "invalid-request", "body.burns"),
]


@pytest.mark.parametrize(("line", "body", "status", "code", "at"), REFUSED)
async def test_what_cannot_be_is_refused_by_name(at_table, line, body, status, code, at):
    before = await at_table.get("/state")
    for lang in ("fr", "en"):
        answer = await at_table.ask(line, body, lang=lang)
        problem = answer.json()
        assert (answer.status_code, problem["code"]) == (status, code)
        assert [each["at"] for each in problem["errors"]] == ([at] if at else [])
    assert (await at_table.get("/state"))["last_event"] == before["last_event"]


async def test_a_used_surge_is_refused_in_all_three_uses(at_table):
    await told(at_table, f"POST {ZOE}/surge", {})
    for line, body, at in (
        (f"POST {ZOE}/surge", {}, "path.character"),
        (f"POST {ZOE}/rolls", {"stat": "move", "spend_surge": True}, "body.spend_surge"),
        (f"POST {ZOE}/damage", {"hit": {"move": 1}, "spend_surge": True}, "body.spend_surge"),
    ):
        answer = await at_table.ask(line, body)
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")
        assert answer.json()["errors"][0]["at"] == at


async def test_two_burned_out_cannot_act(at_table):
    await told(at_table, f"POST {ZOE}/damage", {"hit": {"soul": 1, "heart": 5}})
    answer = await at_table.ask(f"POST {ZOE}/rolls", {"stat": "move"})
    assert (answer.status_code, answer.json()["code"]) == (422, "out-of-action")


# Roles and secrets.


async def test_chat_plays_but_edits_no_sheet(at_table):
    await at_table.mint("nightbot", "chat")
    for line, body in ((f"PUT {ZOE}", SHEET), (f"PATCH {ZOE}", {}), (f"POST {ZOE}/build", {"close": True})):
        assert (await at_table.ask(line, body, by="nightbot")).status_code == 403
    assert (await told(at_table, f"POST {ZOE}/rolls", {"stat": "move"}, by="nightbot"))["outcome"]


async def test_a_bound_player_edits_its_own(at_table):
    await at_table.mint("zoes", "player", characters=["zoe"])
    await told(at_table, f"PATCH {ZOE}", {"adjust": {"move": 1}}, by="zoes")
    for line, body in ((f"PUT {MAX}", SHEET), ("POST /opponents", OGRE), ("POST /opponents/ogre/burns", {"points": 1})):
        assert (await at_table.ask(line, body, by="zoes")).status_code == 403


@pytest.mark.parametrize(
    ("visibility", "roller_sees", "gm_sees"),
    [("public", True, True), ("gm", True, True), ("blind", False, True), ("self", True, False)],
)
async def test_who_sees_a_roll(at_table, visibility, roller_sees, gm_sees):
    await at_table.mint("overlay", "observer")
    body = {"stat": "move", "burn_stat": 1, "faces": [4], "visibility": visibility}
    rolled = await told(at_table, f"POST {ZOE}/rolls", body, by="player")
    assert ("total" in rolled) is roller_sees
    for by, sees in (("player", roller_sees), ("gm", gm_sees), ("overlay", visibility == "public")):
        event = await at_table.get(f"/events/{rolled['event']}", by=by)
        assert event["type"] == "burn2d6.roll"
        assert event["redacted"] is not sees
        assert (event["data"] is not None) is sees
    assert (await at_table.get(ZOE))["stats"]["move"]["burned"] == 1


# Versions, keys, and others' steps.


async def test_a_stale_version_changes_nothing(at_table):
    read = await at_table.ask(f"GET {ZOE}")
    tag = {"If-Match": read.headers["etag"]}
    changed = await at_table.ask(f"PATCH {ZOE}", {"adjust": {"move": 1}}, headers=tag)
    assert changed.headers["etag"] == f'"{changed.json()["version"]}"' != read.headers["etag"]
    for line, body in ((f"PATCH {ZOE}", {"adjust": {"move": 1}}), (f"PUT {ZOE}", SHEET)):
        stale = await at_table.ask(line, body, headers=tag)
        assert (stale.status_code, stale.json()["code"]) == (412, "precondition-failed")
    assert (await at_table.get(ZOE))["stats"]["move"]["burned"] == 1


async def test_of_two_at_once_one_wins(at_table):
    tag = {"If-Match": (await at_table.ask(f"GET {ZOE}")).headers["etag"]}
    changes = [at_table.ask(f"PATCH {ZOE}", {"adjust": {"eyes": 1}}, headers=tag) for _ in range(8)]
    assert sorted(each.status_code for each in await asyncio.gather(*changes)) == [200, *[412] * 7]
    assert (await at_table.get(ZOE))["stats"]["eyes"]["burned"] == 1


async def test_a_repeated_key_burns_once(at_table):
    body = {"stat": "move", "burn_stat": 1, "opponent": "ogre", "opponent_burns": 2}
    answers = [await at_table.ask(f"POST {ZOE}/rolls", body, key="once") for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    assert answers[1].headers["idempotency-replayed"] == "true"
    assert (await at_table.get(ZOE))["tally"]["stat_burns"] == 1
    assert (await at_table.get("/opponents/ogre"))["burns"] == 2
    other = await at_table.ask(f"POST {ZOE}/rolls", {**body, "opponent_burns": 1}, key="once")
    assert other.json()["code"] == "idempotency-key-reused"


async def test_the_state_shows_sheets_and_opponents(at_table):
    state = await at_table.get("/state")
    sheets = {each["character"]["id"]: each["burn2d6"] for each in state["characters"]}
    read = await at_table.get(ZOE)
    assert sheets == {"zoe": {name: read[name] for name in sheets["zoe"]} | {"event": None}, "max": None}
    assert [each["id"] for each in state["opponents"]] == ["ogre"]


async def test_a_sheet_goes_with_its_character(at_table):
    await told(at_table, "DELETE /characters/zoe")
    await told(at_table, "PUT /characters/zoe", {"name": "Zoé"})
    assert (await at_table.ask(f"GET {ZOE}")).status_code == 404


async def test_an_undone_roll_burned_nobody(at_table):
    before = await at_table.get("/state")
    body = {"stat": "move", "burn_stat": 1, "spend_surge": True, "opponent": "ogre", "opponent_burns": 2}
    rolled = await told(at_table, f"POST {ZOE}/rolls", body)
    await told(at_table, f"POST /events/{rolled['event']}/undo", {})
    after = await at_table.get("/state")
    assert (after["opponents"], after["characters"]) == (before["opponents"], before["characters"])


async def test_created_things_have_an_address(table):
    added = await table.ask("POST /opponents", OGRE)
    assert (added.status_code, added.headers["location"]) == (201, f"/v1/sessions/{table.id}/opponents/ogre")
    put = [await table.ask(f"PUT {ZOE}", SHEET) for _ in range(2)]
    assert [each.status_code for each in put] == [201, 200]
    assert put[0].headers["location"] == f"/v1/sessions/{table.id}/characters/zoe/burn2d6"
