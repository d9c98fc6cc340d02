"""An evening of 6d6 System over HTTP: first with the dice given, every number known; then with the service's own."""

import asyncio

import pytest

from tests.live import Table

pytestmark = pytest.mark.anyio

NAMES = ["Zoé", "Max", "Ana", "Ivo"]
SHEETS = {
    "zoe": {
        "aptitudes": {"control": 3, "physique": 1},
        "qualifications": {"wetware": 2, "resilience": 1},
        "protections": ["heavy", "light"],
    },
    "max": {"aptitudes": {"physique": 2, "social": 2}, "qualifications": {"endurance": 1, "ascendancy": 2}},
    "ana": {"aptitudes": {"perception": 2}, "qualifications": {"stealth": 2}, "trauma": 4},
    "ivo": {"aptitudes": {"cognition": 1}, "qualifications": {"software": 3}},
}


async def seated(client):
    table = await Table.open(client, characters=NAMES, lang="fr", settings={"tier_size": 3})
    for who, sheet in SHEETS.items():
        assert (await table.ask(f"PUT /characters/{who}/sixd6", sheet, by="player")).status_code == 201
    return table


async def does(table, line, body, status=200, by="player", **told):
    answer = await table.ask(line, body, by=by, **told)
    assert answer.status_code == status, answer.text
    return answer.json()


async def test_with_the_dice_given(client):
    table = await seated(client)

    # A roll by name; its red 1 deals a light card in the same step (A2, R3).
    asked = {
        "aptitude": "control",
        "qualification": "wetware",
        "red": 1,
        "difficulty": "normal",
        "faces": [6, 5, 3, 2, 2, 1, 4],
    }
    roll = await does(table, "POST /characters/zoe/sixd6/rolls", asked)
    assert (roll["base"], roll["successes"], roll["outcome"], len(roll["drawn"]), roll["undealt"]) == (5, 2, "success", 1, 0)
    assert await active(table, "zoe") == [roll["drawn"][0]["id"]]

    # D8 behind both protections, seen first; composure, seen first; one conversion of two (A5).
    seen = await does(table, "POST /characters/zoe/sixd6/damage", {"die": "d8", "faces": [6], "wait": "soak"})
    assert (seen["state"], seen["rolled_die"], seen["damage"]) == ("awaiting_soak", "d6", 5)
    assert seen["choices"] == {"grit": {"base": 1}, "composure": {"base": 4}}
    path = f"/characters/zoe/sixd6/damage/{seen['hit']}"
    soaked = await does(
        table, f"POST {path}/soak", {"kind": "composure", "wait": "conversions", "faces": [6, 6, 2, 1, 3, 2]}
    )
    assert (soaked["state"], soaked["conversions_possible"], soaked["damage"]) == ("awaiting_conversions", 2, 5)
    done = await does(table, f"POST {path}/conversions", {"count": 1})
    assert (done["state"], done["damage"], done["trauma"]) == ("resolved", 3, 1)
    assert (done["damage_level"], done["trauma_level"]) == (3, 1)
    assert (await does(table, f"POST {path}/conversions", {"count": 1}, 409))["code"] == "hit-already-resolved"
    assert (await table.get("/characters/zoe/sixd6"))["protections"] == []

    # Grit in one go: two sixes cancel four, and one point stays (R11).
    hit = await does(
        table, "POST /characters/max/sixd6/damage", {"die": "d6", "soak": {"kind": "grit"}, "faces": [4, 6, 6, 1]}
    )
    assert (hit["damage"], hit["damage_level"]) == (1, 1)

    # A wrong hit, and its undo.
    wrong = await does(table, "POST /characters/ivo/sixd6/damage", {"die": "d12", "faces": [12]})
    assert (await table.get("/characters/ivo/sixd6"))["damage"] == 12
    undone = await does(table, f"POST /events/{wrong['event']}/undo", {}, by="gm")
    assert undone["undone"] == wrong["event"]
    assert (await table.get("/characters/ivo/sixd6"))["damage"] == 0

    # Healing: allowed, refused, two hours, allowed (A6). The carer's pool is on the sheet.
    heal = {"care": "treat_damage", "carer": "zoe", "faces": [5, 5, 5, 5, 1]}
    healed = await does(table, "POST /characters/zoe/sixd6/healing", heal)
    assert (healed["healed"], healed["lost"], healed["after"], healed["window"]["healed"]) == (3, 1, 0, 3)
    assert (await does(table, "POST /characters/zoe/sixd6/healing", heal, 409))["code"] == "nothing-to-heal"
    calm = {"care": "calm_other", "carer": "max", "faces": [5, 5, 2, 1]}
    assert (await does(table, "POST /characters/ana/sixd6/healing", calm))["after"] == 2
    refused = await does(table, "POST /characters/ana/sixd6/healing", calm, 409)
    assert (refused["code"], refused["next_roll"]["remaining_seconds"]) == ("healing-cooldown", 7_200)
    await does(table, "POST /clock", {"action": "advance", "seconds": 7_200}, by="gm")
    assert (await does(table, "POST /characters/ana/sixd6/healing", calm))["after"] == 0

    # Three grave cards (A7), and the scene's end (R20).
    await apply(table, "mandatory-denunciation", {"character": "ivo"}, "drew", ["ivo"])
    await apply(table, "degraded-authority", {}, "named", ["zoe"])
    await apply(table, "team-breakdown", {}, "in_force", [])
    by_name = {"aptitude": "cognition", "qualification": "software", "faces": [1, 2, 3, 4]}
    assert (await does(table, "POST /characters/ivo/sixd6/rolls", by_name))["notices"] == []
    assert (await does(table, "POST /characters/ivo/sixd6/rolls", by_name))["notices"] == ["repeated_qualification"]
    scene = (await table.get("/state"))["scene"]
    assert (scene["suspects"], scene["authority"], scene["breakdown"]) == (["ivo"], "zoe", True)
    ended = await does(table, "POST /scene/end", None, by="gm")
    assert {card["card"] for card in ended["discarded"]} == {"mandatory-denunciation", "degraded-authority"}
    scene = (await table.get("/state"))["scene"]
    assert (scene["suspects"], scene["authority"], scene["breakdown"]) == ([], None, True)  # the breakdown's card stays

    # Everybody at once: one roll for all present, one hit on two.
    group = await does(table, "POST /sixd6/rolls", {"characters": "present", "base": 1, "faces": [1, 5, 2, 6, 3]})
    assert [each["character"] for each in group["results"]] == ["ana", "ivo", "max", "zoe"]
    assert [each["successes"] for each in group["results"]] == [0, 1, 0, 1]
    blast = await does(table, "POST /sixd6/damage", {"characters": ["ana", "ivo"], "die": "d4", "faces": [2, 4]})
    assert [each["damage"] for each in blast["results"]] == [2, 4]


async def active(table, character):
    return [card["id"] for card in (await table.get("/cards", character=character))["cards"]]


async def apply(table, card, body, effect, names):
    """Draw grave cards until this one comes; those before it go at once."""
    for _ in range(18):
        drawn = (await does(table, "POST /decks/grave/draws", {"character": "zoe"}))["cards"][0]
        if drawn["card"] == card:
            applied = await does(table, f"POST /cards/{drawn['id']}/apply", body)
            assert (applied["effect"], [each["id"] for each in applied["characters"]]) == (effect, names)
            return
        await does(table, "POST /decks/grave/returns", {"cards": [drawn["id"]], "to": "bottom"})
    raise AssertionError(f"{card} is not in the deck")


async def test_with_the_service_s_dice(client):
    table = await seated(client)
    for who in SHEETS:
        roll = await does(table, f"POST /characters/{who}/sixd6/rolls", {"base": 4, "red": 3})
        assert roll["successes"] == sum(die["successes"] for die in roll["dice"])
        assert roll["complications"] == len(roll["drawn"]) + roll["undealt"]
        hit = await does(table, f"POST /characters/{who}/sixd6/damage", {"die": "d6", "wait": "soak"})
        if hit["state"] == "awaiting_soak":
            hit = await does(
                table, f"POST /characters/{who}/sixd6/damage/{hit['hit']}/soak", {"kind": "composure", "base": 3}
            )
        sheet = await table.get(f"/characters/{who}/sixd6")
        assert (sheet["damage"], sheet["trauma"]) == (hit["damage_level"], hit["trauma_level"])
        assert sheet["damage"] == hit["damage"]
        if sheet["damage"]:
            healing = {"care": "treat_damage", "base": 3}
            healed = await does(table, f"POST /characters/{who}/sixd6/healing", healing)
            assert healed["healed"] == min(healed["successes"], 3, sheet["damage"])
            assert (await does(table, f"POST /characters/{who}/sixd6/healing", healing, 409))["code"] in (
                "healing-cooldown",
                "nothing-to-heal",
            )
    decks = {each["deck"]: each for each in (await table.get("/decks"))["decks"]}
    assert all(each["draw_pile"] + each["discard_pile"] + each["active"] == each["size"] for each in decks.values())
    log = (await table.get("/events", limit=500))["events"]
    assert [int(each["id"]) for each in log] == list(range(2, len(log) + 2))  # every step, once, in order


async def test_two_clients_at_one_hit_and_one_sheet(client):
    table = await seated(client)
    hit = await does(table, "POST /characters/max/sixd6/damage", {"die": "d6", "faces": [5], "wait": "soak"})
    soak = f"POST /characters/max/sixd6/damage/{hit['hit']}/soak"
    answers = await asyncio.gather(*(table.ask(soak, {"kind": kind}, by="player") for kind in ("none", "grit") * 4))
    assert sorted(answer.status_code for answer in answers) == [200, *[409] * 7]
    assert {a.json()["code"] for a in answers if a.status_code == 409} == {"hit-already-resolved"}
    won = next(answer.json() for answer in answers if answer.status_code == 200)
    sheet = await table.ask("GET /characters/max/sixd6")
    assert sheet.json()["damage"] == won["damage"]
    change = {"adjust": {"trauma": 1}}
    version = {"If-Match": sheet.headers["etag"]}
    patches = (table.ask("PATCH /characters/max/sixd6", change, by="player", headers=version) for _ in range(6))
    answers = await asyncio.gather(*patches)
    assert sorted(answer.status_code for answer in answers) == [200, *[412] * 5]
    assert (await table.get("/characters/max/sixd6"))["trauma"] == sheet.json()["trauma"] + 1
