"""An evening of 6d6 System over HTTP, by a caller that stores nothing; and two who act at once."""

import asyncio

import httpx
import pytest

from tests.live import Table

pytestmark = pytest.mark.anyio

NAMES = ["Zoé", "Max", "Ana", "Bob"]
SHEETS = {
    "zoe": {
        "aptitudes": {"physique": 2, "control": 2, "social": 1},
        "qualifications": {"endurance": 1, "resilience": 1, "shooting": 1},
        "protections": ["light", "heavy"],
    },
    "max": {"aptitudes": {"control": 3, "physique": 1}, "qualifications": {"wetware": 2, "resilience": 1}},
    "ana": {"aptitudes": {"social": 2, "control": 1}, "qualifications": {"ascendancy": 2, "shooting": 2}, "trauma": 4},
    "bob": {"aptitudes": {"physique": 3}, "qualifications": {"endurance": 2}, "protections": ["light"]},
}
SHOOTS = {"aptitude": "control", "qualification": "shooting"}
EIGHT_HOURS = {"action": "advance", "seconds": 28_800}


def play(who, what, body, **expected):
    return f"POST /characters/{who}/sixd6/{what}", body, expected


# {hit}: of the newest answer that has one; {event}: of the newest answer; {card}: the grave card drawn last.
EVENING = [
    # request, body, what its answer says; a status tells a refusal
    # Rolls by name.
    play("zoe", "rolls", {**SHOOTS, "difficulty": "normal", "faces": [6, 5, 2, 3]}, base=3, successes=2, outcome="success"),
    play(
        "ana",
        "rolls",
        {**SHOOTS, "red": 2, "difficulty": "hard", "faces": [6, 2, 3, 1, 1, 4]},
        base=3,
        successes=1,
        margin=-2,
        outcome="failure",
        complications=2,
        drawn=2,
        undealt=0,
    ),
    play("bob", "rolls", {**SHOOTS, "red": 1, "faces": [1]}, base=0, outcome="fatal_error", drawn=1),
    ("POST /sixd6/rolls", {"characters": "present", "base": 1, "faces": [5, 5, 2, 6, 1]}, {"results": 4}),
    # A hit in one step: heavy and light protection, then grit. 7 - 1 - 2.
    play(
        "zoe",
        "damage",
        {"die": "d12", "soak": {"kind": "grit"}, "faces": [7, 6, 2, 3]},
        rolled_die="d10",
        damage=4,
        damage_level=4,
        protections_destroyed=["heavy", "light"],
        state="resolved",
    ),
    # A hit that is seen first, soaked by another client, with the red one's card in its step, then converted.
    play("max", "damage", {"die": "d8", "wait": "soak", "faces": [8]}, damage=8, state="awaiting_soak"),
    play(
        "max",
        "damage/{hit}/soak",
        {"kind": "composure", "red": 1, "wait": "conversions", "faces": [6, 6, 2, 3, 1, 4, 6, 5]},
        state="awaiting_conversions",
        conversions_possible=3,
        damage=8,
        drawn=1,
    ),
    play("max", "damage/{hit}/conversions", {"count": 2}, damage=4, trauma=2, damage_level=4, trauma_level=2, drawn=0),
    play("max", "damage/{hit}/conversions", {"count": 1}, status=409, code="hit-already-resolved"),
    # One that is taken as it is, and a wrong one, taken back.
    play("ana", "damage", {"die": "d4", "wait": "soak", "faces": [2]}, state="awaiting_soak"),
    play("ana", "damage/{hit}/soak", {"kind": "none"}, damage=2, damage_level=2),
    play("bob", "damage", {"die": "d6", "faces": [6]}, damage=5, damage_level=5, protections_destroyed=["light"]),
    ("POST /events/{event}/undo", None, {"type": "sixd6.damage"}),
    ("GET /characters/bob/sixd6", None, {"damage": 0, "protections": ["light"]}),
    ("POST /sixd6/damage", {"characters": ["bob", "ana"], "die": "d2", "faces": [2, 1]}, {"results": 2}),
    # Healing: the carer's pool, the tier of 3 points, the two hours.
    play(
        "zoe",
        "healing",
        {"care": "treat_damage", "carer": "max", "faces": [5, 5, 6, 5, 2, 5]},
        successes=5,
        before=4,
        after=1,
        healed=3,
        lost=2,
    ),
    play("zoe", "healing", {"care": "treat_damage", "carer": "max"}, status=409, code="healing-cooldown"),
    play("zoe", "healing", {"care": "calm_self"}, status=409, code="nothing-to-heal"),
    play("ana", "healing", {"care": "calm_self", "faces": [5]}, before=4, after=3, healed=1),
    play("ana", "healing", {"care": "calm_other", "carer": "zoe", "faces": [5]}, before=3, after=2, healed=1),
    ("POST /clock", EIGHT_HOURS, {"running": True}),
    play("zoe", "healing", {"care": "treat_damage", "carer": "max", "faces": [5, 2, 2, 2, 2]}, after=0, healed=1),
    # Grave cards.
    ("POST /decks/grave/draws", {"character": "zoe"}, {"cards": 1}),
    ("POST /discards", {"cards": ["{card}"]}, {"cards": 1}),
]

GRAVE = [
    # the card that is dealt, who holds it, what is told with it, what the answer says
    ("team-breakdown", "max", {}, {"effect": "in_force"}),
    ("mandatory-denunciation", "ana", {"character": "bob"}, {"effect": "drew", "characters": ["bob"], "drawn": 1}),
    ("degraded-authority", "bob", {}, {"effect": "named", "characters": ["ana", "max"]}),
]

AFTER = [
    play("zoe", "rolls", {**SHOOTS, "faces": [2, 2, 2]}, notices=[]),
    play("ana", "rolls", {**SHOOTS, "faces": [2, 2, 2]}, notices=["repeated_qualification"]),
    ("POST /scene/end", None, {"discarded": 2}),
    play("ana", "rolls", {**SHOOTS, "faces": [2, 2, 2]}, notices=["repeated_qualification"]),  # it lasts longer
    ("POST /discards", {"all": True}, {}),
    play("ana", "rolls", {**SHOOTS, "faces": [2, 2, 2]}, notices=[]),
]

# After it all: damage, trauma, protections.
LEFT = {"zoe": (0, 0, []), "max": (4, 2, []), "ana": (3, 2, []), "bob": (1, 0, [])}


class Bot:
    """Fifty lines of a bot: it keeps what the last answers said, and nothing else."""

    def __init__(self, table):
        self.table, self.kept = table, {}

    async def do(self, line, body, expected):
        body = {**body, "cards": [self.kept["card"]]} if body and body.get("cards") == ["{card}"] else body
        answer = await self.table.ask(line.format(**self.kept), body)
        told = answer.json()
        expected = dict(expected)
        assert answer.status_code == expected.pop("status", 200), answer.text
        assert told["text"]
        said = {
            name: len(told[name]) if isinstance(value, int) and isinstance(told[name], list) else told[name]
            for name, value in expected.items()
        }
        assert said == expected, line
        self.kept |= {name: told[name] for name in ("hit", "event") if told.get(name)}
        if "/draws" in line:
            self.kept["card"] = told["cards"][0]["id"]
        return told

    async def deal(self, card, who):
        """The grave card of that name, off the pile: what is drawn before it goes back under the pile."""
        await self.do("POST /decks/grave/shuffles", {"discard": True}, {})  # the one that was discarded may be it
        for _ in range(18):
            drawn = (await self.do("POST /decks/grave/draws", {"character": who}, {}))["cards"][0]
            if drawn["card"] == card:
                return drawn["id"]
            await self.do("POST /decks/grave/returns", {"cards": [drawn["id"]], "to": "bottom"}, {})
        raise AssertionError(f"{card} is not in the pile")


async def seated(client):
    table = await Table.open(client, name="Vendredi", lang="fr", characters=NAMES, settings={"tier_size": 3})
    for who, sheet in SHEETS.items():
        assert (await table.ask(f"PUT /characters/{who}/sixd6", sheet, by="player")).status_code == 201
    return table


async def test_an_evening_with_given_faces(client):
    table = await seated(client)
    bot = Bot(table)
    for line, body, expected in EVENING:
        await bot.do(line, body, expected)
    for card, who, body, expected in GRAVE:
        dealt = await bot.deal(card, who)
        told = await bot.do(f"POST /cards/{dealt}/apply", body, {"effect": expected["effect"]})
        assert [each["id"] for each in told["characters"]] == expected.get("characters", [])
        assert len(told["drawn"]) == expected.get("drawn", 0)
    assert (await table.get("/state"))["scene"]["suspects"] == ["bob"]
    for line, body, expected in AFTER:
        await bot.do(line, body, expected)
    state = await table.get("/state")
    sheets = {each["character"]["id"]: each["sixd6"] for each in state["characters"]}
    assert {who: (s["damage"], s["trauma"], s["protections"]) for who, s in sheets.items()} == LEFT
    assert (state["scene"]["suspects"], state["scene"]["breakdown"], state["hits"]) == ([], False, [])
    assert [deck["active"] for deck in state["decks"]] == [0, 0]
    for lang in ("fr", "en"):
        events = (await table.get("/events", lang=lang, limit=500))["events"]
        assert all(event["text"].strip() for event in events)
        assert events[-1]["id"] == state["last_event"]


async def test_an_evening_with_the_services_dice(client):
    """Whatever falls, tracks, cards and limits add up."""
    table = await seated(client)
    sheets = {who: await table.get(f"/characters/{who}/sixd6") for who in SHEETS}
    for _ in range(4):
        for who in SHEETS:
            await roll_that_adds_up(table, who)
            sheets[who] = await hit_that_adds_up(table, who, sheets[who])
    for who in SHEETS:
        await healing_that_adds_up(table, who)
    await table.ask("POST /clock", EIGHT_HOURS)
    for who in SHEETS:
        await healing_that_adds_up(table, who)
    for who in SHEETS:
        drawn = (await table.ask("POST /decks/grave/draws", {"character": who})).json()["cards"][0]
        answer = await table.ask(f"POST /cards/{drawn['id']}/apply", {})
        assert answer.status_code in (200, 422), answer.text  # some want a name
    await whole_decks(table)
    ended = (await table.ask("POST /scene/end")).json()
    assert {card["deck"] for card in ended["discarded"]} <= {"grave"}
    await whole_decks(table)


async def roll_that_adds_up(table, who):
    answer = await table.ask(
        f"POST /characters/{who}/sixd6/rolls", {**SHOOTS, "red": 2, "difficulty": "normal"}, by="player"
    )
    roll = answer.json()
    counted = sum(die["successes"] for die in roll["dice"])
    assert (roll["successes"], roll["margin"], roll["passed"]) == (counted, counted - 2, counted >= 2)
    ones = sum(die["kind"] == "red" and die["face"] == 1 for die in roll["dice"])
    assert ones == roll["complications"] == len(roll["drawn"]) + roll["undealt"]
    assert {card["character"] for card in roll["drawn"]} <= {who}
    sheet = await table.get(f"/characters/{who}/sixd6")
    assert roll["base"] == sheet["aptitudes"]["control"] + sheet["qualifications"]["shooting"]
    assert sum(die["wave"] == 0 for die in roll["dice"]) == roll["base"] + 2
    assert sum(die["wave"] > 0 for die in roll["dice"]) == sum(die["face"] == 6 for die in roll["dice"])


async def hit_that_adds_up(table, who, before):
    path = f"POST /characters/{who}/sixd6/damage"
    hit = (await table.ask(path, {"die": "d12", "wait": "soak"}, by="player")).json()
    if hit["state"] == "awaiting_soak":
        soak = {"kind": "composure", "red": 1, "wait": "conversions"}
        hit = (await table.ask(f"{path}/{hit['hit']}/soak", soak)).json()
    if hit["state"] == "awaiting_conversions":
        most = {"count": hit["conversions_possible"]}
        hit = (await table.ask(f"{path}/{hit['hit']}/conversions", most, by="player")).json()
    assert hit["state"] == "resolved"
    lights = "light" in hit["protections_destroyed"]
    assert hit["damage"] + 2 * hit["trauma"] + lights == (hit["rolled"] or 0)
    after = await table.get(f"/characters/{who}/sixd6")
    for track in ("damage", "trauma"):
        assert after[track] == before[track] + hit[track] == hit[f"{track}_level"]
    assert set(after["protections"]) == set(before["protections"]) - set(hit["protections_destroyed"])
    return after


async def healing_that_adds_up(table, who):
    before = (await table.get(f"/characters/{who}/sixd6"))["damage"]
    answers = [
        await table.ask(f"POST /characters/{who}/sixd6/healing", {"care": "treat_damage", "carer": "max"}) for _ in "12"
    ]
    healed, again = (answer.json() for answer in answers)
    if before == 0:
        assert healed["code"] == again["code"] == "nothing-to-heal"
        return
    assert (healed["before"], healed["healed"]) == (before, min(healed["successes"], 3, before))
    assert healed["healed"] + healed["lost"] == healed["successes"]
    assert (await table.get(f"/characters/{who}/sixd6"))["damage"] == healed["after"] == before - healed["healed"]
    assert again["code"] == ("nothing-to-heal" if healed["after"] == 0 else "healing-cooldown")
    if again["code"] == "healing-cooldown":
        assert 0 < int(answers[1].headers["retry-after"]) <= 7_200


async def whole_decks(table):
    for deck, size in (("light", 43), ("grave", 18)):
        view = await table.get(f"/decks/{deck}")
        assert view["draw_pile"] + view["discard_pile"] + view["active"] == view["size"] == size
        cards = [card["id"] for card in (*view["discard"], *view["active_cards"])]
        assert len(cards) == len({*cards})


# Two who act at once, each on another worker perhaps: one wins, and nothing is half done.


@pytest.fixture
async def busy(service):
    """A table of the service of four workers."""
    async with service.client() as client:
        yield await seated(client)


MANY = 12


def codes(answers):
    return sorted(answer.json().get("code", "") for answer in answers)


async def at_once(table, line, *bodies, **told):
    """Each from a connection of its own."""

    async def asked(body):
        async with httpx.AsyncClient(base_url=table.client.base_url, timeout=30) as client:
            return await Table(client, table.opened).ask(line, body, **told)

    return await asyncio.gather(*(asked(body) for body in bodies))


async def test_of_two_who_soak_a_hit_one_wins(busy):
    struck = (await busy.ask("POST /characters/max/sixd6/damage", {"die": "d8", "wait": "soak", "faces": [5]})).json()
    kinds = [
        {"kind": "grit", "base": 2, "faces": [6, 6]},  # leaves 1
        {"kind": "none"},  # leaves 5
        {"kind": "composure", "base": 1, "faces": [6, 2]},  # leaves 3, and 1 trauma
    ]
    answers = await at_once(busy, f"POST /characters/max/sixd6/damage/{struck['hit']}/soak", *(kinds * (MANY // 3)))
    won = [answer.json() for answer in answers if answer.status_code == 200]
    assert len(won) == 1
    assert codes(answers) == ["", *["hit-already-resolved"] * (MANY - 1)]
    assert {answer.status_code for answer in answers} == {200, 409}
    sheet = await busy.get("/characters/max/sixd6")
    assert (sheet["damage"], sheet["trauma"]) == (won[0]["damage"], won[0]["trauma"])
    assert (sheet["damage"], sheet["trauma"]) in {(1, 0), (5, 0), (3, 1)}
    damages = [event for event in (await busy.get("/events"))["events"] if event["type"] == "sixd6.damage"]
    assert len(damages) == 2  # the hit, and its one soak
    assert (await busy.get("/state"))["hits"] == []


async def test_of_two_who_convert_a_hit_one_wins(busy):
    hit = (await busy.ask("POST /characters/max/sixd6/damage", {"die": "d8", "wait": "soak", "faces": [8]})).json()["hit"]
    path = f"POST /characters/max/sixd6/damage/{hit}"
    body = {"kind": "composure", "base": 2, "wait": "conversions", "faces": [6, 6, 1, 1]}
    assert (await busy.ask(f"{path}/soak", body)).json()["conversions_possible"] == 2
    answers = await at_once(busy, f"{path}/conversions", *({"count": n % 3} for n in range(MANY)))
    assert codes(answers) == ["", *["hit-already-resolved"] * (MANY - 1)]
    sheet = await busy.get("/characters/max/sixd6")
    assert (sheet["damage"], sheet["trauma"]) in {(8, 0), (6, 1), (4, 2)}


async def test_of_two_who_change_a_sheet_one_wins(busy):
    read = await busy.ask("GET /characters/zoe/sixd6")
    tag = {"If-Match": read.headers["etag"]}
    bodies = [{"damage": n, "trauma": n} for n in range(1, MANY + 1)]
    answers = await at_once(busy, "PATCH /characters/zoe/sixd6", *bodies, headers=tag)
    (won,) = [answer for answer in answers if answer.status_code == 200]
    assert codes(answers) == ["", *["precondition-failed"] * (MANY - 1)]
    assert {answer.status_code for answer in answers} == {200, 412}
    lost = [answer for answer in answers if answer.status_code == 412]
    assert {answer.headers["etag"] for answer in lost} == {won.headers["etag"]}
    sheet = await busy.get("/characters/zoe/sixd6")
    assert sheet["damage"] == sheet["trauma"] == won.json()["damage"]
    assert f'"{sheet["version"]}"' == won.headers["etag"]


async def test_without_a_version_every_adjustment_counts(busy):
    answers = await at_once(busy, "PATCH /characters/zoe/sixd6", *[{"adjust": {"damage": 1}}] * MANY)
    assert codes(answers) == [""] * MANY
    assert sorted(answer.json()["damage"] for answer in answers) == list(range(1, MANY + 1))


async def test_hits_at_once_all_count_and_break_a_protection_once(busy):
    answers = await at_once(busy, "POST /characters/bob/sixd6/damage", *[{"die": "d6", "faces": [2]}] * MANY)
    assert codes(answers) == [""] * MANY
    destroyed = [answer.json()["protections_destroyed"] for answer in answers]
    assert sorted(destroyed) == [[]] * (MANY - 1) + [["light"]]
    sheet = await busy.get("/characters/bob/sixd6")
    assert (sheet["damage"], sheet["protections"]) == (2 * MANY - 1, [])


async def test_one_key_at_once_is_one_hit(busy):
    answers = await at_once(busy, "POST /characters/ana/sixd6/damage", *[{"die": "d6"}] * MANY, key="once")
    assert codes(answers) == [""] * MANY
    assert len({answer.text for answer in answers}) == 1
    assert (await busy.get("/characters/ana/sixd6"))["damage"] == answers[0].json()["damage"]
