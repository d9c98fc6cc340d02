"""Sheets of 6d6 System at a table: optional; where one is kept, pools, tracks and protections are taken from it."""

import pytest
from msgspec import UNSET

from service.errors import InvalidValue, NotAllowed, NotThere
from service.systems.sixd6.character import Aptitude, Qualification
from service.systems.sixd6.damage import Protection, Threat
from service.systems.sixd6.healing import Care
from service.table import characters, healing, hits, rolls, sheets
from service.table.hits import HitWait, Soaked, Struck
from service.table.rolls import PoolAsked
from service.table.sheets import Adjustment, SheetChange
from tests.table.played import CHAT, GM, OBSERVER, OF_ZOE, PLAYER, Table, fallen, sheet, with_sheet

CONTROL, PHYSIQUE = Aptitude.CONTROL, Aptitude.PHYSIQUE
WETWARE, ENDURANCE, SHOOTING = Qualification.WETWARE, Qualification.ENDURANCE, Qualification.SHOOTING
LIGHT, HEAVY = Protection.LIGHT, Protection.HEAVY
PATH = "/characters/zoe/sixd6"

WHOLE = {"control": 3, "wetware": 2, "damage": 4, "trauma": 1, "protections": (LIGHT,)}


def read(table, who="zoe"):
    return table.play(sheets.facts_of, who)


# Put.


def test_a_sheet_is_created_then_replaced():
    table = Table()
    created = table.play(sheets.put, "zoe", sheet(**WHOLE))
    assert (created.created, created.version, created.name) == (True, table.version, "Zoé")
    assert [created.aptitudes[each] for each in Aptitude] == [0, 0, 0, 0, 0, 3]
    assert {each: value for each, value in created.qualifications.items() if value} == {WETWARE: 2}
    assert len(created.qualifications) == 18
    assert (created.damage, created.trauma, created.protections) == (4, 1, (LIGHT,))
    replaced = table.play(sheets.put, "zoe", sheet(physique=1, protections=(HEAVY, LIGHT)))
    assert (replaced.created, replaced.version) == (False, table.version)
    assert (replaced.aptitudes[CONTROL], replaced.damage, replaced.protections) == (0, 0, (LIGHT, HEAVY))
    told = table.events[-1]
    assert (told.type, told.character, told.data) == ("sixd6.sheet", "zoe", replaced)


# Patch: absent keeps, null resets, `adjust` is relative.
CHANGES = [
    # change, what differs from WHOLE then
    ({}, {}),
    ({"damage": 7}, {"damage": 7}),
    ({"damage": None, "trauma": None}, {"damage": 0, "trauma": 0}),
    ({"aptitudes": {PHYSIQUE: 2}}, {"physique": 2}),
    ({"aptitudes": {CONTROL: 0}}, {"control": 0}),
    ({"aptitudes": {}}, {}),
    ({"aptitudes": None}, {"control": 0}),
    ({"qualifications": {SHOOTING: 1, WETWARE: 3}}, {"shooting": 1, "wetware": 3}),
    ({"qualifications": {}}, {}),
    ({"qualifications": None}, {"wetware": 0}),
    ({"protections": frozenset((HEAVY,))}, {"protections": (HEAVY,)}),
    ({"protections": frozenset()}, {"protections": ()}),
    ({"protections": None}, {"protections": ()}),
    ({"adjust": Adjustment(damage=-2, trauma=3)}, {"damage": 2, "trauma": 4}),
    ({"adjust": Adjustment(damage=-5)}, {"damage": 0}),  # not below 0
    ({"adjust": Adjustment(damage=996)}, {"damage": 1_000}),
    ({"damage": 9, "adjust": Adjustment(damage=-2)}, {"damage": 7}),
    ({"damage": None, "adjust": Adjustment(damage=2)}, {"damage": 2}),
]


@pytest.mark.parametrize(("told", "after"), CHANGES)
def test_a_change_is_a_merge_patch(told, after):
    table = with_sheet(Table(), **WHOLE)
    changed = table.play(sheets.change, "zoe", SheetChange(**told))
    wanted = with_sheet(Table(), **{**WHOLE, **after}).play(sheets.facts_of, "zoe")
    for name in ("aptitudes", "qualifications", "damage", "trauma", "protections"):
        assert getattr(changed, name) == getattr(wanted, name), name
    assert (changed.created, changed.version) == (False, table.version)


@pytest.mark.parametrize("track", ["damage", "trauma"])
def test_a_track_holds_a_thousand_points(track):
    table = with_sheet(Table(), **{track: 998})
    with pytest.raises(InvalidValue) as refusal:
        table.play(sheets.change, "zoe", SheetChange(adjust=Adjustment(**{track: 3})))
    assert (refusal.value.field, refusal.value.data) == (f"adjust.{track}", {"most": 2})
    assert getattr(table.get("s:zoe"), track) == 998


# Who may: sheets are the gm's and the players', each for the characters that its token is bound to.
EDITORS = [
    # token, of Zoé, of Max
    (GM, True, True),
    (PLAYER, True, True),
    (OF_ZOE, True, False),
    (CHAT, False, False),
    (OBSERVER, False, False),
]


@pytest.mark.parametrize("play", [(sheets.put, sheet()), (sheets.change, SheetChange())], ids=["put", "patch"])
@pytest.mark.parametrize(("token", "zoe", "max_"), EDITORS, ids=lambda each: getattr(each, "id", ""))
def test_who_edits_a_sheet(play, token, zoe, max_):
    table = with_sheet(with_sheet(Table()), "max")
    for who, may in (("zoe", zoe), ("max", max_)):
        if may:
            table.play(play[0], who, play[1], by=token)
        else:
            with pytest.raises(NotAllowed):
                table.play(play[0], who, play[1], by=token)
        assert table.play(sheets.facts_of, who, by=token).character == who  # whoever sits here may read it


def test_where_there_is_no_sheet():
    table = Table()
    for play, *told in ((sheets.facts_of,), (sheets.change, SheetChange())):
        for who in ("zoe", "nobody", "No id!"):
            with pytest.raises(NotThere):
                table.play(play, who, *told)
    with pytest.raises(NotThere) as refusal:
        table.play(sheets.put, "zoey", sheet())
    assert refusal.value.nearest[0] in ("zoe", "Zoé")


# What is taken from a sheet.

POOLS = [
    # aptitude, qualification, base dice: any goes with any (A1)
    ("control", "wetware", 5),
    ("physique", "wetware", 3),
    ("control", "endurance", 3),
    ("social", "logistics", 0),
]


@pytest.mark.parametrize(("aptitude", "qualification", "base"), POOLS)
def test_a_roll_by_name_takes_its_base_dice_from_the_sheet(aptitude, qualification, base):
    table = with_sheet(Table(), control=3, physique=1, wetware=2)
    asked = PoolAsked(aptitude=Aptitude(aptitude), qualification=Qualification(qualification), red=1)
    rolled = table.play(rolls.roll_sixd6, "zoe", asked, fallen(*[2] * base, 3))
    assert (rolled.base, rolled.red, rolled.aptitude, rolled.qualification) == (base, 1, aptitude, qualification)


NAMES_OR_BASE = [
    # what the request says, refused
    ({"base": 2}, None),
    ({"aptitude": CONTROL, "qualification": WETWARE}, None),
    ({}, "base"),
    ({"aptitude": CONTROL}, "base"),
    ({"qualification": WETWARE}, "base"),
    ({"base": 2, "aptitude": CONTROL}, "base"),
    ({"base": 2, "qualification": WETWARE}, "base"),
    ({"base": 2, "aptitude": CONTROL, "qualification": WETWARE}, "base"),
]


@pytest.mark.parametrize(("told", "at"), NAMES_OR_BASE)
def test_base_or_names_not_both(told, at):
    table = with_sheet(Table(), control=1, wetware=1)
    if at is None:
        assert table.play(rolls.roll_sixd6, "zoe", PoolAsked(**told), fallen(2, 3)).base == 2
    else:
        with pytest.raises(InvalidValue) as refusal:
            table.play(rolls.roll_sixd6, "zoe", PoolAsked(**told), fallen(2, 3))
        assert (refusal.value.field, refusal.value.problem) == (at, "base_or_names")


@pytest.mark.parametrize("who", ["max", None])
def test_a_roll_by_name_needs_a_sheet(who):
    asked = PoolAsked(aptitude=CONTROL, qualification=WETWARE)
    with pytest.raises(InvalidValue) as refusal:
        with_sheet(Table()).play(rolls.roll_sixd6, who, asked, fallen())
    assert (refusal.value.field, refusal.value.problem) == ("aptitude", "no_sheet")


# A6: who rolls each care, and with what.
CARES = [
    # care, Zoé's sheet, Max's sheet, base dice
    (Care.TREAT_DAMAGE, {"control": 1}, {"control": 3, "wetware": 2}, 5),
    (Care.CALM_SELF, {"control": 1, "resilience": 2}, {"control": 3}, 3),
    (Care.CALM_OTHER, {"social": 3}, {"social": 1, "ascendancy": 1}, 2),
]


@pytest.mark.parametrize(("care", "zoe", "max_", "base"), CARES)
def test_a_healing_pool_is_the_carers_sheets(care, zoe, max_, base):
    table = with_sheet(with_sheet(Table(tier_size=3), damage=5, trauma=5, **zoe), "max", **max_)
    carer = None if care is Care.CALM_SELF else "max"
    healed = table.play(healing.roll, "zoe", healing.Asked(care=care, carer=carer), fallen(*[5] * base))
    assert (healed.successes, healed.before, healed.healed) == (base, 5, min(base, 3))
    assert getattr(table.get("s:zoe"), healed.track) == 5 - healed.healed


def test_a_level_that_the_sheet_holds_is_not_told_again():
    table = with_sheet(Table(tier_size=3), damage=5)
    with pytest.raises(InvalidValue) as refusal:
        table.play(healing.roll, "zoe", healing.Asked(care=Care.TREAT_DAMAGE, base=1, level=4), fallen(5))
    assert (refusal.value.field, refusal.value.problem) == ("damage", "level_on_sheet")
    assert table.get("s:zoe").damage == 5


def test_a_carer_without_a_sheet_tells_the_base_dice():
    table = with_sheet(Table(tier_size=3), damage=5)
    with pytest.raises(InvalidValue) as refusal:
        table.play(healing.roll, "zoe", healing.Asked(care=Care.TREAT_DAMAGE, carer="max"), fallen())
    assert (refusal.value.field, refusal.value.problem) == ("base", "base_without_sheet")


@pytest.mark.parametrize(("kind", "base"), [("grit", 3), ("composure", 5)])
def test_a_soaks_base_dice_are_the_sheets(kind, base):
    table = with_sheet(Table(), physique=1, endurance=2, control=3, resilience=2)
    struck = Struck(die=Threat.D6, soak=Soaked(kind=kind))
    assert len(table.play(hits.strike, "zoe", struck, fallen(4, *[2] * base)).dice) == 1 + base
    told = Struck(die=Threat.D6, soak=Soaked(kind=kind, base=1))  # the request's own go first
    assert len(table.play(hits.strike, "zoe", told, fallen(4, 2)).dice) == 2


def test_a_soak_without_a_sheet_tells_its_base_dice():
    with pytest.raises(InvalidValue) as refusal:
        Table().play(hits.strike, "zoe", Struck(die=Threat.D6, soak=Soaked(kind="grit")), fallen(4))
    assert (refusal.value.field, refusal.value.problem) == ("soak.base", "base_without_sheet")


# The end of a character.


def test_a_deleted_character_takes_its_sheets_and_hits_along():
    table = with_sheet(with_sheet(Table()), "max")
    for who in ("zoe", "max"):
        table.play(hits.strike, who, Struck(die=Threat.D6, wait=HitWait.SOAK), fallen(4))
    table.play(characters.delete, "zoe")
    assert table.get("s:zoe") is None
    assert [each.character for each in table.play(hits.listed)] == ["max"]
    assert [field for field in table.raw if field.startswith(("s:", "p:"))] == ["s:max", "p:h5"]
    table.play(characters.put, "zoe", characters.Profile(name="Zoé"))
    with pytest.raises(NotThere):
        read(table)


def test_a_change_tells_nothing_that_was_not_asked():
    assert all(getattr(SheetChange(), name) is UNSET for name in ("aptitudes", "damage", "protections"))


# Over HTTP: the version is the ETag.


@pytest.mark.anyio
async def test_a_sheet_has_an_address_and_a_version(table):
    created = await table.ask(f"PUT {PATH}", {"aptitudes": {"control": 3}, "protections": ["heavy", "light"]})
    assert (created.status_code, created.headers["location"]) == (201, f"/v1/sessions/{table.id}{PATH}")
    assert created.headers["etag"] == f'"{created.json()["version"]}"'
    read_again = await table.ask(f"GET {PATH}")
    assert read_again.headers["etag"] == created.headers["etag"]
    assert read_again.json()["protections"] == ["light", "heavy"]
    replaced = await table.ask(f"PUT {PATH}", {})
    assert (replaced.status_code, "location" in replaced.headers) == (200, False)
    assert replaced.headers["etag"] != created.headers["etag"]


# If-Match: the version that a change was decided on.
MATCHES = [
    # sent, of the sheet; None: the current version
    (None, 200),
    ("*", 200),
    ('"1"', 412),
    ('"999999"', 412),
    ("1", 422),
    ('W/"1"', 422),
    ('"one"', 422),
    ('"01"', 422),
]


@pytest.mark.anyio
@pytest.mark.parametrize("line", ["PUT", "PATCH"])
@pytest.mark.parametrize(("sent", "status"), MATCHES)
async def test_a_change_may_name_the_version_it_was_decided_on(table, line, sent, status):
    current = (await table.ask(f"PUT {PATH}", {"damage": 4})).headers["etag"]
    answer = await table.ask(f"{line} {PATH}", {"damage": 1}, headers={"If-Match": sent or current})
    assert answer.status_code == status, answer.text
    if status == 412:
        assert (answer.json()["code"], answer.headers["etag"]) == ("precondition-failed", current)
    assert (await table.get(PATH))["damage"] == (1 if status == 200 else 4)


@pytest.mark.anyio
@pytest.mark.parametrize(("sent", "status"), [('"7"', 412), ('"0"', 201), ("*", 412)])
async def test_a_version_of_a_sheet_that_is_not_there(table, sent, status):
    assert (await table.ask(f"PUT {PATH}", {}, headers={"If-Match": sent})).status_code == status


# Over HTTP: what a sheet cannot hold.
WRONG = [
    # request, body, member at fault
    ("PUT", {"aptitudes": {"control": 4}}, "body.aptitudes.control"),
    ("PUT", {"aptitudes": {"strength": 1}}, "body.aptitudes.strength"),
    ("PUT", {"damage": -1}, "body.damage"),
    ("PUT", {"damage": 1_001}, "body.damage"),
    ("PUT", {"protections": ["shield"]}, "body.protections[0]"),
    ("PUT", {"adjust": {"damage": 1}}, "body.adjust"),
    ("PATCH", {"adjust": {"damage": 1.0}}, "body.adjust.damage"),
    ("PATCH", {"adjust": {"luck": 1}}, "body.adjust.luck"),
    ("PATCH", {"adjust": {"damage": 1_000}}, "body.adjust.damage"),
    ("PATCH", {"aptitudes": {"control": None}}, "body.aptitudes.control"),
]


@pytest.mark.anyio
@pytest.mark.parametrize(("line", "body", "at"), WRONG)
async def test_a_wrong_sheet_is_refused_by_name(table, line, body, at):
    await table.ask(f"PUT {PATH}", {"damage": 4})
    answer = await table.ask(f"{line} {PATH}", body)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")
    assert answer.json()["errors"][0]["at"] == at
    assert (await table.get(PATH))["damage"] == 4
