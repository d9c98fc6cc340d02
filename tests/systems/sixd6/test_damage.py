"""A5 in rows. Faces stand in the book's order: the damage die as face/sides, then the soak's waves between dots."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.dice import MOST_DICE, Dice, DieKind, FacesMismatch, FacesSource, GivenFaces, Throw
from service.systems.sixd6.damage import (
    Composure,
    DamageRollStep,
    Grit,
    HeavyProtectionStep,
    Hit,
    HitDie,
    LightProtectionStep,
    Protection,
    SoakStep,
    Threat,
    Wound,
    resolve_hit,
)

D2, D4, D6, D8, D10, D12 = Threat
LIGHT, HEAVY = Protection
KINDS = {"b": DieKind.BASE, "r": DieKind.RED}


def fallen(notation):
    """Dice of "5/8 · b6 r2 · b1": the damage die, then the soak's wave 0, 1…"""
    first, *waves = notation.split(" · ") if notation else [""]
    damage = [tuple(map(int, first.split("/")))] if first else []
    soak = [(die, wave) for wave, dice in enumerate(waves) for die in dice.split()]
    return tuple(HitDie(face, sides, DieKind.DAMAGE, 0, False) for face, sides in damage) + tuple(
        HitDie(int(die[1]), 6, KINDS[die[0]], wave, die[1] == "6") for die, wave in soak
    )


def resolved(hit, faces):
    dice = GivenFaces(faces)
    wound = resolve_hit(hit, dice)
    assert dice.finish() is FacesSource.PROVIDED
    return wound


def own_faces(wound):
    return [die.face for die in wound.dice]


def heavy(before, after):
    return HeavyProtectionStep(before=before, after=after)


def damage_roll(after):
    return DamageRollStep(after=after)


def light(before, after):
    return LightProtectionStep(before=before, after=after)


def soak(before, after, sixes, trauma=0):
    return SoakStep(before=before, after=after, sixes=sixes, trauma=trauma)


WORKED = [
    # case, die, protections, soak, dice, damage, trauma, conversions possible, destroyed, left, steps, cards
    ("D1", D8, {HEAVY}, None, "5/6", 5, 0, 0, (HEAVY,), (), (heavy(D8, D6), damage_roll(5)), 0),
    ("D2", D6, {LIGHT}, Grit(3, 1), "1/6", 0, 0, 0, (LIGHT,), (), (damage_roll(1), light(1, 0)), 0),
    ("D3", D6, {LIGHT}, Grit(2), "6/6 · b6 b6", 1, 0, 0, (LIGHT,), (),
     (damage_roll(6), light(6, 5), soak(5, 1, 2)), 0),
    ("D4", D6, set(), Grit(3), "3/6 · b6 b6 b6", 1, 0, 0, (), (), (damage_roll(3), soak(3, 1, 3)), 0),
    ("D5", D6, set(), Composure(2), "5/6 · b6 b2 · b6 · b3", 1, 2, 2, (), (),
     (damage_roll(5), soak(5, 1, 2, 2)), 0),
    ("D6", D4, set(), Composure(1), "4/4 · b6 · b6 · b6 · b1", 0, 2, 2, (), (),
     (damage_roll(4), soak(4, 0, 3, 2)), 0),
    ("D7", D2, {HEAVY, LIGHT}, Grit(3), "", 0, 0, 0, (HEAVY,), (LIGHT,), (heavy(D2, None),), 0),
    ("D8", D12, {HEAVY, LIGHT}, Composure(2), "7/10 · b6 b5 · b5", 4, 1, 1, (HEAVY, LIGHT), (),
     (heavy(D12, D10), damage_roll(7), light(7, 6), soak(6, 4, 1, 1)), 0),
    ("D9", D6, set(), Composure(2, 0, 1), "5/6 · b6 b2 · b6 · b3", 3, 1, 2, (), (),
     (damage_roll(5), soak(5, 3, 2, 1)), 0),
    ("D10", D6, {LIGHT}, Grit(1), "3/6 · b6", 1, 0, 0, (LIGHT,), (), (damage_roll(3), light(3, 2), soak(2, 1, 1)), 0),
    ("D11", D4, {LIGHT}, Composure(1), "2/4 · b6 · b1", 1, 0, 0, (LIGHT,), (),
     (damage_roll(2), light(2, 1), soak(1, 1, 1)), 0),
    ("D12", D4, set(), Grit(0, 1), "1/4 · r1", 1, 0, 0, (), (), (damage_roll(1), soak(1, 1, 0)), 1),
]  # fmt: skip

RULINGS = [
    # ruling, then the same columns
    ("A5: nothing set against it", D12, set(), None, "12/12", 12, 0, 0, (), (), (damage_roll(12),), 0),
    ("A5: the damage die does not explode", D6, set(), None, "6/6", 6, 0, 0, (), (), (damage_roll(6),), 0),
    ("A5: a player may keep light back", D6, {HEAVY}, None, "4/4", 4, 0, 0, (HEAVY,), (),
     (heavy(D6, D4), damage_roll(4)), 0),
    ("R6: light after the die", D4, {HEAVY, LIGHT}, None, "1/2", 0, 0, 0, (HEAVY, LIGHT), (),
     (heavy(D4, D2), damage_roll(1), light(1, 0)), 0),
    ("R6: light before the soak", D6, {LIGHT}, Composure(1), "3/6 · b6 · b2", 0, 1, 1, (LIGHT,), (),
     (damage_roll(3), light(3, 2), soak(2, 0, 1, 1)), 0),
    ("R7: below d2, heavy alone", D2, {HEAVY}, None, "", 0, 0, 0, (HEAVY,), (), (heavy(D2, None),), 0),
    ("R7: below d2, no composure either", D2, {HEAVY}, Composure(3, 2, 1), "", 0, 0, 0, (HEAVY,), (),
     (heavy(D2, None),), 0),
    ("R8: light on damage 1", D2, {LIGHT}, None, "1/2", 0, 0, 0, (LIGHT,), (), (damage_roll(1), light(1, 0)), 0),
    ("R8: light on damage 2", D2, {LIGHT}, None, "2/2", 1, 0, 0, (LIGHT,), (), (damage_roll(2), light(2, 1)), 0),
    ("R9: heavy left it nothing to do", D2, {HEAVY, LIGHT}, None, "", 0, 0, 0, (HEAVY,), (LIGHT,),
     (heavy(D2, None),), 0),
    ("R10: composure, nothing left", D8, {LIGHT}, Composure(4, 2), "1/8", 0, 0, 0, (LIGHT,), (),
     (damage_roll(1), light(1, 0)), 0),
    ("R10: grit rolls for a single point", D8, set(), Grit(1), "1/8 · b6", 1, 0, 0, (), (),
     (damage_roll(1), soak(1, 1, 1)), 0),
    ("R10: composure rolls for a single point", D8, set(), Composure(0, 1), "1/8 · r6 · r1", 1, 0, 0, (), (),
     (damage_roll(1), soak(1, 1, 1)), 1),
    ("R10: an empty pool soaks nothing, grit", D8, set(), Grit(0), "7/8", 7, 0, 0, (), (),
     (damage_roll(7), soak(7, 7, 0)), 0),
    ("R10: an empty pool soaks nothing, composure", D8, set(), Composure(0), "7/8", 7, 0, 0, (), (),
     (damage_roll(7), soak(7, 7, 0)), 0),
    ("R11: from 2 to 1", D6, set(), Grit(1), "2/6 · b6", 1, 0, 0, (), (), (damage_roll(2), soak(2, 1, 1)), 0),
    ("R11: 3 to 1 is whole", D6, set(), Grit(1), "3/6 · b6", 1, 0, 0, (), (), (damage_roll(3), soak(3, 1, 1)), 0),
    ("R11: six sixes and 12", D12, set(), Grit(6), "12/12 · b6 b6 b6 b6 b6 b6", 1, 0, 0, (), (),
     (damage_roll(12), soak(12, 1, 6)), 0),
    ("R11: five sixes and 12", D12, set(), Grit(3, 3), "12/12 · b6 b6 b6 r6 r6 r1", 2, 0, 0, (), (),
     (damage_roll(12), soak(12, 2, 5)), 1),
    ("R11: no six, nothing cancelled", D6, set(), Grit(2), "4/6 · b5 b1", 4, 0, 0, (), (),
     (damage_roll(4), soak(4, 4, 0)), 0),
    ("A5: grit rolls no six again", D10, set(), Grit(1, 1), "10/10 · b6 r6", 6, 0, 0, (), (),
     (damage_roll(10), soak(10, 6, 2)), 0),
    ("R12: 3 damage, two sixes", D6, set(), Composure(2), "3/6 · b6 b6 · b2 b2", 1, 1, 1, (), (),
     (damage_roll(3), soak(3, 1, 2, 1)), 0),
    ("R12: fives do not soak", D6, set(), Composure(2), "6/6 · b5 b5", 6, 0, 0, (), (),
     (damage_roll(6), soak(6, 6, 0)), 0),
    ("R12: no conversion wanted", D6, set(), Composure(1, 0, 0), "6/6 · b6 · b2", 6, 0, 1, (), (),
     (damage_roll(6), soak(6, 6, 1)), 0),
    ("R12: as many wanted as fit", D6, set(), Composure(1, 0, 2), "6/6 · b6 · b6 · b2", 2, 2, 2, (), (),
     (damage_roll(6), soak(6, 2, 2, 2)), 0),
    ("R12: more wanted than sixes", D12, set(), Composure(1, 0, 20), "12/12 · b6 · b2", 10, 1, 1, (), (),
     (damage_roll(12), soak(12, 10, 1, 1)), 0),
    ("R12: more wanted than damage", D2, set(), Composure(2, 0, 20), "2/2 · b6 b6 · b2 b2", 0, 1, 1, (), (),
     (damage_roll(2), soak(2, 0, 2, 1)), 0),
    ("R13: 4 damage, two sixes", D4, set(), Composure(2), "4/4 · b6 b6 · b1 b1", 0, 2, 2, (), (),
     (damage_roll(4), soak(4, 0, 2, 2)), 0),
    ("R13: all twelve", D12, set(), Composure(6), "12/12 · b6 b6 b6 b6 b6 b6 · b1 b1 b1 b1 b1 b1", 0, 6, 6, (), (),
     (damage_roll(12), soak(12, 0, 6, 6)), 0),
    ("R2: red soak dice stay red", D6, set(), Composure(1, 1), "4/6 · b1 r6 · r1", 2, 1, 1, (), (),
     (damage_roll(4), soak(4, 2, 1, 1)), 1),
    ("R3: a card each", D6, set(), Grit(1, 3), "4/6 · b1 r1 r1 r2", 4, 0, 0, (), (),
     (damage_roll(4), soak(4, 4, 0)), 2),
    ("R3: no card for the damage die", D6, set(), Grit(1), "1/6 · b1", 1, 0, 0, (), (),
     (damage_roll(1), soak(1, 1, 0)), 0),
]  # fmt: skip


@pytest.mark.parametrize("row", WORKED + RULINGS, ids=lambda row: row[0])
def test_a_hit_is_resolved_by_the_book(row):
    _, die, protections, chosen, dice, damage, trauma, possible, destroyed, left, steps, cards = row
    expected = fallen(dice)
    roll = expected[0] if expected else None
    assert resolved(
        Hit(die=die, protections=frozenset(protections), soak=chosen), [each.face for each in expected]
    ) == Wound(
        die=die,
        rolled_die=Threat(f"d{roll.sides}") if roll else None,
        rolled=roll.face if roll else None,
        dice=expected,
        damage=damage,
        trauma=trauma,
        conversions_possible=possible,
        protections_left=left,
        protections_destroyed=destroyed,
        steps=steps,
        complications=cards,
        truncated=False,
    )


# A5: heavy protection and the damage die
HEAVY_PROTECTION = [
    # threat, die rolled
    (D12, D10),
    (D10, D8),
    (D8, D6),
    (D6, D4),
    (D4, D2),
    (D2, None),  # R7: below d2 nothing is rolled
]


@pytest.mark.parametrize(("threat", "lowered"), HEAVY_PROTECTION)
def test_heavy_protection_lowers_the_damage_die(threat, lowered):
    wound = resolved(Hit(die=threat, protections=frozenset({HEAVY})), [lowered.sides] if lowered else [])
    assert (wound.rolled_die, wound.damage) == (lowered, lowered.sides if lowered else 0)
    assert wound.protections_destroyed == (HEAVY,)


TRUNCATED = [
    # soak, its faces, sixes, cards, truncated
    (Composure(1), [6] * 999 + [2], 999, 0, False),
    (Composure(1), [6] * 1000, 1000, 0, True),
    (Composure(6, 6), [6] * 996 + [2] * 4, 996, 0, True),
    (Composure(0, 1), [6] * 998 + [1], 998, 1, False),
    (Grit(6, 6), [6] * 12, 12, 0, False),  # never rolled again, so nothing is cut off
]


@pytest.mark.parametrize(("chosen", "faces", "sixes", "cards", "truncated"), TRUNCATED)
def test_the_thousand_are_dice_of_the_soak(chosen, faces, sixes, cards, truncated):
    wound = resolved(Hit(die=D12, soak=chosen), [12, *faces])
    assert len(wound.dice) == 1 + len(faces) <= 1 + MOST_DICE
    assert wound.steps[-1].sixes == sixes
    assert (wound.complications, wound.truncated) == (cards, truncated)


def damage_die(threat):
    return Throw(threat.sides, DieKind.DAMAGE, 0, 1)


def base_dice(wave, count):
    return Throw(6, DieKind.BASE, wave, count)


def red_dice(wave, count):
    return Throw(6, DieKind.RED, wave, count)


MISMATCHES = [
    # die, protections, soak, faces, position at fault, sides of the wrong die, needed there (nothing: too many)
    (D8, set(), None, [], 0, None, (damage_die(D8),)),
    (D8, {HEAVY}, None, [], 0, None, (damage_die(D6),)),
    (D8, set(), Grit(2, 1), [5], 1, None, (base_dice(0, 2), red_dice(0, 1))),
    (D8, set(), Grit(2, 1), [5, 6], 2, None, (base_dice(0, 1), red_dice(0, 1))),
    (D8, set(), Composure(2, 1), [5, 6, 1, 6], 4, None, (base_dice(1, 1), red_dice(1, 1))),
    (D8, set(), Composure(2, 1), [5, 6, 1, 6, 1], 5, None, (red_dice(1, 1),)),
    (D8, {LIGHT}, Composure(2), [2], 1, None, (base_dice(0, 2),)),
    (D8, set(), None, [9], 0, 8, (damage_die(D8),)),
    (D8, {HEAVY}, None, [7], 0, 6, (damage_die(D6),)),
    (D2, set(), None, [3], 0, 2, (damage_die(D2),)),
    (D12, set(), None, [13], 0, 12, (damage_die(D12),)),
    (D8, set(), Grit(2, 1), [8, 6, 7, 1], 2, 6, (base_dice(0, 1), red_dice(0, 1))),
    (D8, set(), Grit(2, 1), [8, 6, 6, 8], 3, 6, (red_dice(0, 1),)),
    (D8, set(), Composure(1), [8, 6, 7], 2, 6, (base_dice(1, 1),)),
    (D8, set(), None, [5, 1], 1, None, ()),
    (D8, set(), Grit(1), [5, 6, 6], 2, None, ()),  # grit rolls no six again
    (D8, {LIGHT}, Grit(1), [1, 6], 1, None, ()),  # R10: nothing is left to soak
    (D2, {HEAVY}, Grit(1), [1], 0, None, ()),  # R7: nothing is rolled
]


@pytest.mark.parametrize("row", MISMATCHES, ids=lambda row: f"{row[0]}, faces {row[3]}")
def test_faces_that_do_not_fit_the_hit(row):
    die, protections, chosen, faces, *expected = row
    with pytest.raises(FacesMismatch) as refusal:
        resolved(Hit(die=die, protections=frozenset(protections), soak=chosen), faces)
    assert [refusal.value.at, refusal.value.sides, refusal.value.needed] == expected


class Twos(Dice):
    """Ends every chain."""

    def throw(self, *throws):
        return [2 for throw in throws for _ in range(throw.count)]


SOURCES = [
    # faces given, dice, source
    ([], "2/8 · b2 r2", FacesSource.SERVICE),
    ([5], "5/8 · b2 r2", FacesSource.MIXED),
    ([5, 6], "5/8 · b6 r2 · b2", FacesSource.MIXED),
    ([5, 6, 6, 1, 1], "5/8 · b6 r6 · b1 r1", FacesSource.PROVIDED),
]


@pytest.mark.parametrize(("faces", "dice", "source"), SOURCES)
def test_given_faces_come_first_and_the_rest_is_rolled(faces, dice, source):
    given_first = GivenFaces(faces, rest=Twos())
    assert resolve_hit(Hit(die=D8, soak=Composure(1, 1)), given_first).dice == fallen(dice)
    assert given_first.finish() is source


def test_the_soak_may_be_chosen_when_the_damage_was_seen():
    seen = resolved(Hit(die=D8, protections=frozenset({LIGHT})), [6])
    soaked = resolve_hit(
        Hit(die=D8, protections=frozenset({LIGHT}), soak=Composure(2)), GivenFaces(own_faces(seen), rest=Twos())
    )
    assert (seen.damage, soaked.steps) == (5, (*seen.steps, soak(5, 5, 0)))


grits = st.builds(Grit, st.integers(0, 6), st.integers(0, 6))
composures = st.builds(Composure, st.integers(0, 6), st.integers(0, 6), st.none() | st.integers(0, 20))
soaks = st.none() | grits | composures
protections = st.frozensets(st.sampled_from(Protection))
soak_faces = st.lists(st.integers(1, 6) | st.just(6), max_size=25)


@st.composite
def resolutions(draw, soaks=soaks, protections=protections):
    """A hit and what came of it."""
    hit = Hit(die=draw(st.sampled_from(Threat)), protections=draw(protections), soak=draw(soaks))
    die = dict(HEAVY_PROTECTION)[hit.die] if HEAVY in hit.protections else hit.die
    damage = [draw(st.integers(1, die.sides))] if die else []
    return hit, resolve_hit(hit, GivenFaces(damage + draw(soak_faces), rest=Twos()))


@settings(deadline=None)
@given(resolutions())
def test_its_own_faces_give_the_same_answer_again(resolution):
    hit, wound = resolution
    assert resolved(hit, own_faces(wound)) == wound


@settings(deadline=None)
@given(resolutions())
def test_no_point_of_the_roll_is_lost(resolution):
    hit, wound = resolution
    stopped = LIGHT in wound.protections_destroyed
    cancelled = (wound.rolled or 0) - stopped - 2 * wound.trauma - wound.damage
    if isinstance(hit.soak, Grit):
        sixes = sum(die.soaks for die in wound.dice)
        assert (wound.trauma, cancelled) == (0, 2 * sixes) or (wound.damage == 1 and 0 <= cancelled < 2 * sixes)
    else:
        assert cancelled == 0


@settings(deadline=None)
@given(resolutions())
def test_the_steps_lead_from_the_threat_to_the_wound(resolution):
    hit, wound = resolution
    value = hit.die
    for step in wound.steps:
        assert getattr(step, "before", value) == value
        value = step.after
    assert wound.damage == (value or 0)
    assert set(wound.protections_left) | set(wound.protections_destroyed) == hit.protections
    assert not set(wound.protections_left) & set(wound.protections_destroyed)


@settings(deadline=None)
@given(resolutions())
def test_cards_are_the_red_ones_on_the_table(resolution):
    _, wound = resolution
    assert wound.complications == [(die.kind, die.face) for die in wound.dice].count((DieKind.RED, 1))


@settings(deadline=None)
@given(resolutions(soaks=composures), st.integers(0, 20))
def test_conversions_may_be_chosen_when_the_dice_were_seen(resolution, wanted):
    hit, wound = resolution
    chosen = Hit(die=hit.die, protections=hit.protections, soak=Composure(hit.soak.base, hit.soak.red, wanted))
    again = resolved(chosen, own_faces(wound))
    assert (again.dice, again.conversions_possible) == (wound.dice, wound.conversions_possible)
    assert again.trauma == min(wanted, wound.conversions_possible)
    assert again.damage + 2 * again.trauma == wound.damage + 2 * wound.trauma


@settings(deadline=None)
@given(resolutions(protections=st.sampled_from([frozenset(), frozenset({HEAVY})])))
def test_light_protection_never_makes_the_same_faces_hurt_more(resolution):
    hit, bare = resolution
    faces = own_faces(bare)
    light_stops_all = bare.rolled == 1  # R10: then the soak is not rolled
    covered = Hit(die=hit.die, protections=hit.protections | {LIGHT}, soak=hit.soak)
    wound = resolved(covered, faces[:1] if light_stops_all else faces)
    assert wound.damage + wound.trauma <= bare.damage + bare.trauma
    if not isinstance(hit.soak, Composure):
        assert wound.damage <= bare.damage


def test_before_composure_a_stopped_point_may_leave_one_that_does_not_convert():
    """R12: why the property above adds trauma to damage, and does not look at damage alone."""
    bare = resolved(Hit(die=D6, soak=Composure(1)), [2, 6, 1])
    covered = resolved(Hit(die=D6, protections=frozenset({LIGHT}), soak=Composure(1)), [2, 6, 1])
    assert (bare.damage, bare.trauma) == (0, 1)
    assert (covered.damage, covered.trauma) == (1, 0)
