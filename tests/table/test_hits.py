"""A5 at a table: each worked case of rules.md in one step and in several, and who may see and choose what."""

import pytest
from msgspec.structs import replace

from service.dice import DieKind, FacesMismatch, FacesSource, Throw
from service.errors import HitAlreadyResolved, InvalidValue, NotAllowed, NotThere, QuotaExceeded
from service.systems.sixd6.damage import Composure, Protection, Threat, Wound
from service.table import characters, decks, healing, hits, sheets
from service.table.audience import Role, Visibility
from service.table.hits import HitState, HitWait, SoakChoice, Soaked, Struck
from service.table.records import Token
from service.table.rolls import Cast
from tests.table.played import CHAT, GM, OBSERVER, OF_ZOE, PLAYER, Scripted, Table, d6, fallen, with_sheet

LIGHT, HEAVY = Protection
AWAITING_SOAK, AWAITING_CONVERSIONS, RESOLVED = HitState
OF_MAX = Token(id="of-max", role=Role.PLAYER, characters=("max",), created_ms=0)

POOLS = {"grit": ("physique", "endurance"), "composure": ("control", "resilience")}
BEFORE = {"damage": 2, "trauma": 1}
"""Zoé's tracks."""

CASES = [
    # case, die, protections, (soak, base, red, most conversions), damage die, soak's faces,
    #                                                                damage, trauma, destroyed, cards
    ("D1", "d8", "heavy", None, "5", "", 5, 0, "heavy", 0),
    ("D2", "d6", "light", ("grit", 3, 1), "1", "", 0, 0, "light", 0),
    ("D3", "d6", "light", ("grit", 2, 0), "6", "6 6", 1, 0, "light", 0),
    ("D4", "d6", "", ("grit", 3, 0), "3", "6 6 6", 1, 0, "", 0),
    ("D5", "d6", "", ("composure", 2, 0), "5", "6 2 6 3", 1, 2, "", 0),
    ("D6", "d4", "", ("composure", 1, 0), "4", "6 6 6 1", 0, 2, "", 0),
    ("D7", "d2", "light heavy", ("grit", 3, 0), "", "", 0, 0, "heavy", 0),
    ("D8", "d12", "light heavy", ("composure", 2, 0), "7", "6 5 5", 4, 1, "heavy light", 0),
    ("D9", "d6", "", ("composure", 2, 0, 1), "5", "6 2 6 3", 3, 1, "", 0),
    ("D10", "d6", "light", ("grit", 1, 0), "3", "6", 1, 0, "light", 0),
    ("D11", "d4", "light", ("composure", 1, 0), "2", "6 1", 1, 0, "light", 0),
    ("D12", "d4", "", ("grit", 0, 1), "1", "1", 1, 0, "", 1),
    # R2, R3: the reroll of a red six shows 1; and a red one in each wave
    ("red", "d6", "", ("composure", 1, 2), "6", "6 6 1 6 1 2", 0, 3, "", 2),
]
ALL = pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])


def numbers(text):
    return [int(each) for each in text.split()]


def protections(text):
    return tuple(Protection(each) for each in text.split())


def at_table(case):
    """Zoé wears what the case says, and her sheet has its pool."""
    _, _, worn, soak, *_ = case
    kind, base = soak[:2] if soak else ("grit", 0)
    pool = dict(zip(POOLS[kind], (min(base, 3), base - min(base, 3)), strict=True))
    return with_sheet(Table(), **pool, **BEFORE, protections=protections(worn))


def soaked(soak):
    """What the request says of the soak: the base dice are the sheet's."""
    return None if soak is None else Soaked(kind=soak[0], red=soak[2], max_conversions=(*soak, None)[3])


def in_one_step(table, case):
    _, die, _, soak, first, then, *_ = case
    return table.play(hits.strike, "zoe", Struck(die=Threat(die), soak=soaked(soak)), fallen(*numbers(first + " " + then)))


def struck(table, case, by=GM):
    """The hit is seen first."""
    wound = table.play(hits.strike, "zoe", Struck(die=Threat(case[1]), wait=HitWait.SOAK), fallen(*numbers(case[4])), by=by)
    assert wound.trauma == wound.complications == 0
    return wound


def in_two_steps(table, case):
    """The soak is chosen when the damage is seen."""
    seen = struck(table, case)
    if seen.state is RESOLVED:
        return seen
    assert (seen.state, seen.conversions_possible) == (AWAITING_SOAK, 0)
    return table.play(hits.soak, "zoe", seen.hit, soaked(case[3]), fallen(*numbers(case[5])), None)


def in_three_steps(table, case):
    """The conversions are chosen when the soak's dice are seen: as many as the case has."""
    seen = struck(table, case)
    if seen.state is RESOLVED:
        return seen
    unlimited = soaked(case[3]) and replace(soaked(case[3]), max_conversions=None)
    rolled = table.play(hits.soak, "zoe", seen.hit, unlimited, fallen(*numbers(case[5])), HitWait.CONVERSIONS)
    if rolled.state is RESOLVED:
        return rolled
    assert (rolled.state, rolled.damage, rolled.trauma) == (AWAITING_CONVERSIONS, seen.damage, 0)
    return table.play(hits.convert, "zoe", rolled.hit, case[7], Cast())


WAYS = pytest.mark.parametrize("way", [in_one_step, in_two_steps, in_three_steps], ids=lambda way: way.__name__)


@ALL
@WAYS
def test_a_case_of_the_rules(case, way):
    _, _, worn, _, _, _, damage, trauma, destroyed, cards = case
    table = at_table(case)
    wound = way(table, case)
    assert (wound.damage, wound.trauma, wound.state) == (damage, trauma, RESOLVED)
    assert wound.protections_destroyed == protections(destroyed)
    sheet = table.get("s:zoe")
    assert (sheet.damage, sheet.trauma) == (wound.damage_level, wound.trauma_level) == (2 + damage, 1 + trauma)
    assert sheet.protections == tuple(each for each in protections(worn) if each not in wound.protections_destroyed)
    assert table.piles("light")[2] == dict.fromkeys(range(1, 1 + cards), "zoe")
    assert {event.type for event in table.events[1:]} == {"sixd6.damage"}
    assert wound.source is FacesSource.PROVIDED


@ALL
@pytest.mark.parametrize("steps", [in_two_steps, in_three_steps], ids=lambda way: way.__name__)
def test_in_steps_is_the_same_as_at_once(case, steps):
    at_once, later = (way(at_table(case), case) for way in (in_one_step, steps))
    for name in Wound.__struct_fields__:
        if name != "complications":  # a soak that waits has dealt its cards already
            assert getattr(later, name) == getattr(at_once, name), name


@ALL
def test_tracks_rise_at_the_end_only(case):
    table = at_table(case)
    tracks, seen = [], []
    for step in (lambda: struck(table, case), *later_steps(table, case)):
        seen.append(step())
        sheet = table.get("s:zoe")
        tracks.append((sheet.damage, sheet.trauma))
        if seen[-1].state is RESOLVED:
            break
    assert tracks[:-1] == [(2, 1)] * (len(tracks) - 1)
    assert tracks[-1] == (2 + case[6], 1 + case[7])


def later_steps(table, case):
    soak = soaked(case[3]) and replace(soaked(case[3]), max_conversions=None)
    faces = fallen(*numbers(case[5]))
    return (
        lambda: table.play(hits.soak, "zoe", newest(table), soak, faces, HitWait.CONVERSIONS),
        lambda: table.play(hits.convert, "zoe", newest(table), case[7], Cast()),
    )


def newest(table):
    return table.play(hits.listed)[-1].hit


# Protections.

WORN = [
    # on the sheet, set against the hit (None: not said), die, face, destroyed, left on the sheet
    ("light heavy", None, "d6", "3", "heavy light", ""),
    ("light heavy", "", "d6", "3", "", "light heavy"),
    ("light heavy", "light", "d6", "3", "light", "heavy"),  # one is kept back
    ("light heavy", "heavy", "d6", "3", "heavy", "light"),
    ("heavy", None, "d2", "", "heavy", ""),  # R7
    ("light heavy", None, "d2", "", "heavy", "light"),  # R9: nothing was left for the light one to cancel
    ("", None, "d6", "3", "", ""),
]


@pytest.mark.parametrize("wait", [None, HitWait.SOAK])
@pytest.mark.parametrize(("worn", "used", "die", "face", "destroyed", "left"), WORN)
def test_protections_go_from_the_sheet_when_they_had_an_effect(worn, used, die, face, destroyed, left, wait):
    table = with_sheet(Table(), protections=protections(worn))
    told = None if used is None else frozenset(protections(used))
    wound = table.play(hits.strike, "zoe", Struck(die=Threat(die), protections=told, wait=wait), fallen(*numbers(face)))
    assert wound.protections_destroyed == protections(destroyed)
    assert table.get("s:zoe").protections == protections(left)


def test_what_is_not_worn_protects_from_nothing():
    table = with_sheet(Table(), protections=(LIGHT,))
    before = dict(table.raw)
    with pytest.raises(InvalidValue) as refusal:
        table.play(hits.strike, "zoe", Struck(die=Threat.D6, protections=frozenset(Protection)), fallen(3))
    assert (refusal.value.field, refusal.value.problem, refusal.value.data) == (
        "protections",
        "not_worn",
        {"missing": "heavy"},
    )
    assert table.raw == before


def test_without_a_sheet_the_request_says_what_protects():
    told = Struck(die=Threat.D8, protections=frozenset(Protection))
    assert Table().play(hits.strike, "zoe", told, fallen(5)).protections_destroyed == (HEAVY, LIGHT)


# Tracks.


def test_a_track_that_nobody_told_stays_unknown():
    table = Table(tier_size=3)
    wound = table.play(hits.strike, "zoe", Struck(die=Threat.D6), fallen(3))
    assert (wound.damage, wound.damage_level, wound.trauma_level) == (3, None, None)
    care = healing.Asked(care="treat_damage", base=1, level=5)
    table.play(healing.roll, "zoe", care, fallen(5))
    wound = table.play(hits.strike, "zoe", Struck(die=Threat.D6), fallen(3))
    assert (wound.damage_level, wound.trauma_level) == (7, None)  # 5 − 1 as a healing roll told it, and 3


def test_a_track_ends_at_a_thousand():
    table = with_sheet(Table(), damage=995)
    assert table.play(hits.strike, "zoe", Struck(die=Threat.D12), fallen(12)).damage_level == 1_000


# What waits, and for whom.


def test_what_a_waiting_hit_tells():
    table = with_sheet(Table(), physique=1, endurance=2, control=3, resilience=3)
    wound = table.play(hits.strike, "zoe", Struck(die=Threat.D8, wait=HitWait.SOAK), fallen(5), by=PLAYER)
    assert (wound.hit, wound.state, wound.damage) == (f"h{table.version}", AWAITING_SOAK, 5)
    assert (wound.choices.grit.base, wound.choices.composure.base) == (3, 6)
    (listed,) = table.play(hits.listed, by=OBSERVER)
    assert (listed.hit, listed.character, listed.state, listed.die) == (wound.hit, "zoe", AWAITING_SOAK, Threat.D8)
    assert (listed.damage, listed.conversions_possible, listed.choices) == (5, 0, wound.choices)
    chosen = Soaked(kind="composure")
    rolled = table.play(hits.soak, "zoe", wound.hit, chosen, fallen(6, 1, 1, 1, 1, 6, 1, 2), HitWait.CONVERSIONS)
    assert (rolled.hit, rolled.conversions_possible, rolled.choices) == (wound.hit, 2, None)
    (listed,) = table.play(hits.listed)
    assert (listed.state, listed.damage, listed.conversions_possible) == (AWAITING_CONVERSIONS, 5, 2)
    done = table.play(hits.convert, "zoe", wound.hit, 1, Cast())
    assert (done.hit, done.state, done.choices) == (wound.hit, RESOLVED, None)
    assert table.play(hits.listed) == ()


def test_without_a_sheet_the_choices_have_no_base():
    wound = Table().play(hits.strike, "zoe", Struck(die=Threat.D8, wait=HitWait.SOAK), fallen(5))
    assert (wound.choices.grit.base, wound.choices.composure.base) == (None, None)


@pytest.mark.parametrize("wait", [None, HitWait.CONVERSIONS])
def test_a_hit_may_be_taken_as_it_is(wait):
    table = with_sheet(Table())
    hit = table.play(hits.strike, "zoe", Struck(die=Threat.D8, wait=HitWait.SOAK), fallen(5)).hit
    wound = table.play(hits.soak, "zoe", hit, hits.chosen(SoakChoice.NONE, None, 0, None), Cast(), wait)
    assert (wound.state, wound.damage, wound.damage_level, len(wound.dice)) == (RESOLVED, 5, 5, 1)


@pytest.mark.parametrize(
    ("kind", "wait", "die", "rolls"),
    [
        ("grit", HitWait.CONVERSIONS, 5, [6, 2]),  # converts nothing
        ("composure", HitWait.CONVERSIONS, 5, [4, 2]),  # no six
        ("composure", HitWait.CONVERSIONS, 1, [6, 2, 3]),  # R12: a single point stays
    ],
)
def test_where_nothing_can_be_chosen_the_hit_is_over(kind, wait, die, rolls):
    table = Table()
    hit = table.play(hits.strike, "zoe", Struck(die=Threat.D8, wait=HitWait.SOAK), fallen(die)).hit
    wound = table.play(hits.soak, "zoe", hit, Soaked(kind=kind, base=2), fallen(*rolls), wait)
    assert (wound.state, wound.conversions_possible, wound.trauma) == (RESOLVED, 0, 0)


def test_the_tables_dice_roll_each_step():
    table = Table()
    seen = table.play(hits.strike, "zoe", Struck(die=Threat.D8, wait=HitWait.SOAK), Cast(), chance=Scripted((8, 4)))
    chance = Scripted(*d6(6, 2), *d6(1))
    wound = table.play(hits.soak, "zoe", seen.hit, Soaked(kind="composure", base=2), Cast(), None, chance=chance)
    assert (wound.damage, wound.trauma, wound.source, chance.left) == (3, 1, FacesSource.SERVICE, [])
    assert [(die.face, die.kind) for die in wound.dice][:2] == [(5, DieKind.DAMAGE), (6, DieKind.BASE)]


def test_the_faces_of_a_soak_are_counted_without_the_damage_die():
    table = Table()
    hit = table.play(hits.strike, "zoe", Struck(die=Threat.D8, wait=HitWait.SOAK), fallen(5)).hit
    before = dict(table.raw)
    with pytest.raises(FacesMismatch) as refusal:
        table.play(hits.soak, "zoe", hit, Soaked(kind="grit", base=2, red=1), fallen(1), None)
    assert refusal.value.at == 1
    assert refusal.value.needed == (Throw(6, DieKind.BASE, 0, 1), Throw(6, DieKind.RED, 0, 1))
    assert table.raw == before


REFUSED = [
    # a hit as it is asked for, member at fault
    (Struck(die=Threat.D6, wait=HitWait.CONVERSIONS), "wait"),
    (Struck(die=Threat.D6, wait=HitWait.SOAK, soak=Soaked(kind="grit", base=1)), "soak"),
]


@pytest.mark.parametrize(("asked", "at"), REFUSED)
def test_a_hit_that_cannot_be_asked_for(asked, at):
    with pytest.raises(InvalidValue) as refusal:
        Table().play(hits.strike, "zoe", asked, fallen(3))
    assert refusal.value.field == at


CHOICES = [
    # kind, base, red, most conversions, member at fault
    (SoakChoice.GRIT, 3, 0, 1, "max_conversions"),
    (SoakChoice.NONE, None, 0, 1, "max_conversions"),
    (SoakChoice.NONE, 2, 0, None, "base"),
    (SoakChoice.NONE, None, 1, None, "red"),
]


@pytest.mark.parametrize(("kind", "base", "red", "most", "at"), CHOICES)
def test_what_does_not_go_with_a_choice(kind, base, red, most, at):
    with pytest.raises(InvalidValue) as refusal:
        hits.chosen(kind, base, red, most)
    assert refusal.value.field == at


def test_a_soak_can_only_wait_for_its_conversions():
    table = Table()
    hit = table.play(hits.strike, "zoe", Struck(die=Threat.D8, wait=HitWait.SOAK), fallen(5)).hit
    with pytest.raises(InvalidValue) as refusal:
        table.play(hits.soak, "zoe", hit, Soaked(kind="composure", base=1), fallen(1), HitWait.SOAK)
    assert refusal.value.field == "wait"


# R12: how many of two possible conversions.
@pytest.mark.parametrize(("count", "damage", "trauma"), [(0, 5, 0), (1, 3, 1), (2, 1, 2), (3, None, None)])
def test_conversions_are_chosen_after_the_dice_were_seen(count, damage, trauma):
    table = at_table(CASES[4])
    hit = struck(table, CASES[4]).hit
    table.play(hits.soak, "zoe", hit, Soaked(kind="composure"), fallen(6, 2, 6, 3), HitWait.CONVERSIONS)
    if damage is None:
        with pytest.raises(InvalidValue) as refusal:
            table.play(hits.convert, "zoe", hit, count, Cast())
        assert (refusal.value.field, refusal.value.data) == ("count", {"most": 2})
        assert table.play(hits.listed)[0].hit == hit
    else:
        wound = table.play(hits.convert, "zoe", hit, count, Cast())
        assert (wound.damage, wound.trauma) == (damage, trauma)


# Red dice (R3), once.


def test_cards_are_dealt_with_the_soak_and_not_again():
    table = at_table(CASES[-1])
    hit = struck(table, CASES[-1]).hit
    rolled = table.play(
        hits.soak, "zoe", hit, Soaked(kind="composure", red=2), fallen(*numbers(CASES[-1][5])), HitWait.CONVERSIONS
    )
    assert [card.id for card in rolled.drawn] == ["light-1", "light-2"]
    done = table.play(hits.convert, "zoe", hit, 1, Cast())
    assert (done.complications, done.drawn, done.undealt) == (0, (), 0)
    assert len(table.piles("light")[2]) == 2


@pytest.mark.parametrize("cast", [{"deal": False}, {"visibility": Visibility.GM}, {"visibility": Visibility.SELF}])
def test_a_soak_deals_nothing_unasked_or_in_secret(cast):
    table = Table()
    soak = Soaked(kind="grit", base=0, red=2)
    wound = table.play(hits.strike, "zoe", Struck(die=Threat.D4, soak=soak), Cast(faces=[4, 1, 1], **cast))
    assert (wound.complications, wound.drawn, wound.undealt) == (2, (), 0)
    in_steps = {name: value for name, value in cast.items() if name == "visibility"}
    hit = table.play(hits.strike, "zoe", Struck(die=Threat.D4, wait=HitWait.SOAK), Cast(faces=[4], **in_steps)).hit
    then = Cast(faces=[1, 1], deal=cast.get("deal", True))
    assert table.play(hits.soak, "zoe", hit, soak, then, None).drawn == ()
    assert table.piles("light")[2] == {}


def test_a_soak_deals_what_there_is():
    table = Table()
    table.play(decks.draw, "light", 42, holder="max")
    soak = Soaked(kind="grit", base=0, red=2)
    wound = table.play(hits.strike, "zoe", Struck(die=Threat.D4, soak=soak), fallen(4, 1, 1))
    assert ([card.id for card in wound.drawn], wound.undealt) == (["light-43"], 1)


# Who may.

MAY = [
    # token, may strike, soak and convert for Zoé
    (GM, True),
    (PLAYER, True),
    (CHAT, True),
    (OF_ZOE, True),
    (OF_MAX, False),
    (OBSERVER, False),
]


@pytest.mark.parametrize("struck_by", [GM, PLAYER, OF_ZOE])
@pytest.mark.parametrize(("token", "may"), MAY, ids=lambda each: getattr(each, "id", ""))
def test_another_client_of_the_character_goes_on(struck_by, token, may):
    table = at_table(CASES[4])
    hit = struck(table, CASES[4], by=struck_by).hit
    soak, faces = Soaked(kind="composure"), fallen(6, 2, 6, 3)
    if may:
        table.play(hits.strike, "zoe", Struck(die=Threat.D6), fallen(1), by=token)
        table.play(hits.soak, "zoe", hit, soak, faces, HitWait.CONVERSIONS, by=token)
        assert table.play(hits.convert, "zoe", hit, 2, Cast(), by=token).trauma == 2
        return
    before = dict(table.raw)
    for play, *told in ((hits.strike, Struck(die=Threat.D6), fallen(1)), (hits.soak, hit, soak, faces, None)):
        with pytest.raises(NotAllowed):
            table.play(play, "zoe", *told, by=token)
    assert table.raw == before


def test_a_hit_is_somebodys():
    table = at_table(CASES[4])
    hit = struck(table, CASES[4]).hit
    for who, which in (("max", hit), ("zoe", "h999"), ("zoe", "h1"), ("zoe", "zoe"), ("zoe", ""), ("nobody", hit)):
        with pytest.raises(NotThere):
            table.play(hits.soak, who, which, None, Cast(), None)
        with pytest.raises(NotThere):
            table.play(hits.convert, who, which, 0, Cast())


def test_a_hit_is_resolved_once():
    table = at_table(CASES[4])
    hit = struck(table, CASES[4]).hit
    with pytest.raises(InvalidValue) as refusal:
        table.play(hits.convert, "zoe", hit, 1, Cast())
    assert (refusal.value.field, refusal.value.problem) == ("count", "soak_first")
    soak, faces = Soaked(kind="composure"), fallen(6, 2, 6, 3)
    table.play(hits.soak, "zoe", hit, soak, faces, HitWait.CONVERSIONS)
    with pytest.raises(HitAlreadyResolved):  # it has been soaked: only its conversions are left
        table.play(hits.soak, "zoe", hit, None, Cast(), None)
    table.play(hits.convert, "zoe", hit, 2, Cast())
    before = dict(table.raw)
    for play, *told in ((hits.soak, soak, faces, None), (hits.convert, 0, Cast())):
        with pytest.raises(HitAlreadyResolved) as refusal:
            table.play(play, "zoe", hit, *told)
        assert refusal.value.hit == hit
    assert table.raw == before


def test_a_hit_without_damage_waits_for_nothing():
    table = with_sheet(Table(), protections=(LIGHT,))
    wound = table.play(hits.strike, "zoe", Struck(die=Threat.D6, wait=HitWait.SOAK), fallen(1))
    assert (wound.state, wound.hit, wound.damage, wound.choices) == (RESOLVED, None, 0, None)
    assert table.play(hits.listed) == ()
    assert table.get("s:zoe").protections == ()


# Secret hits that wait: who finds them in the state, and may go on with them.
SECRETS = [
    # visibility, seen by: roller, gm, another player, observer
    (Visibility.PUBLIC, (True, True, True, True)),
    (Visibility.GM, (True, True, False, False)),
    (Visibility.BLIND, (False, True, False, False)),
    (Visibility.SELF, (True, False, False, False)),
]


@pytest.mark.parametrize(("visibility", "seen"), SECRETS)
def test_who_finds_a_secret_hit(visibility, seen):
    table = Table()
    cast = Cast(faces=[5], visibility=visibility)
    hit = table.play(hits.strike, "zoe", Struck(die=Threat.D6, wait=HitWait.SOAK), cast, by=OF_ZOE).hit
    found = [bool(table.play(hits.listed, by=each)) for each in (OF_ZOE, GM, PLAYER, OBSERVER)]
    assert found == list(seen)
    for each, sees in ((PLAYER, seen[2]), (OF_ZOE, seen[0])):
        if not sees:
            with pytest.raises(NotThere):
                table.play(hits.soak, "zoe", hit, None, Cast(), None, by=each)
    allowed = next(each for each, sees in zip((OF_ZOE, GM), seen[:2], strict=True) if sees)
    wound = table.play(hits.soak, "zoe", hit, None, Cast(), None, by=allowed)
    assert (wound.visibility, table.events[-1].visibility) == (visibility, visibility)


def test_a_chat_s_secret_hit_is_the_gm_s_to_go_on_with():
    """Whatever a chat reads is posted, refusals too."""
    table = Table()
    cast = Cast(faces=[5], visibility=Visibility.SELF)
    hit = table.play(hits.strike, "zoe", Struck(die=Threat.D6, wait=HitWait.SOAK), cast, by=CHAT).hit
    assert table.play(hits.listed, by=CHAT) == ()
    with pytest.raises(NotThere):
        table.play(hits.soak, "zoe", hit, None, Cast(), None, by=CHAT)
    assert table.play(hits.soak, "zoe", hit, None, Cast(), None, by=GM).state is RESOLVED


def test_who_has_gone_leaves_no_hit_that_nobody_can_resolve():
    table = Table()
    cast = Cast(faces=[5], visibility=Visibility.SELF)
    hit = table.play(hits.strike, "zoe", Struck(die=Threat.D6, wait=HitWait.SOAK), cast, by=OF_ZOE).hit
    assert table.play(hits.listed, by=GM) == ()
    assert table.play(hits.soak, "zoe", hit, None, Cast(), None, by=GM).state is RESOLVED


# Fifty wait, no more: what is over goes first, then the oldest.


def waits(table, count=1):
    return [table.play(hits.strike, "zoe", Struck(die=Threat.D6, wait=HitWait.SOAK), fallen(5)).hit for _ in range(count)]


def test_fifty_hits_wait():
    table = Table()
    first, second, third, *others = waits(table, 50)
    table.play(hits.soak, "zoe", third, None, Cast(), None)
    (another,) = waits(table)
    assert [each.hit for each in table.play(hits.listed)] == [first, second, *others, another]
    with pytest.raises(NotThere):
        table.play(hits.soak, "zoe", third, None, Cast(), None)
    with pytest.raises(QuotaExceeded):
        waits(table)
    assert [each.hit for each in table.play(hits.listed)] == [first, second, *others, another]


def test_a_hit_that_goes_on_waiting_takes_no_ones_place():
    table = Table()
    there = waits(table, 50)
    table.play(hits.soak, "zoe", there[-1], Soaked(kind="composure", base=1), fallen(6, 1), HitWait.CONVERSIONS)
    assert [each.hit for each in table.play(hits.listed)] == there


def test_a_pending_hit_keeps_what_was_rolled_only():
    table = at_table(CASES[4])
    hit = struck(table, CASES[4]).hit
    table.play(hits.soak, "zoe", hit, Soaked(kind="composure", red=0), fallen(6, 2, 6, 3), HitWait.CONVERSIONS)
    kept = table.get(f"p:{hit}")
    assert (kept.faces, kept.soak, kept.resolved) == ((5, 6, 2, 6, 3), Composure(2, 0, 0), False)


def test_a_renamed_character_keeps_its_hit():
    table = Table()
    hit = waits(table)[0]
    table.play(characters.change, "zoe", characters.ProfileChange(name="Zoë"))
    assert table.play(hits.soak, "zoe", hit, None, Cast(), None).character_name == "Zoë"


def test_a_sheet_that_came_later_takes_the_damage():
    table = Table()
    hit = waits(table)[0]
    with_sheet(table, damage=1)
    assert table.play(hits.soak, "zoe", hit, None, Cast(), None).damage_level == 6
    assert table.play(sheets.facts_of, "zoe").damage == 6
