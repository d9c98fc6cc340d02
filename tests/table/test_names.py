"""Names: any Unicode, shown as first spelt, found however they are typed."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.errors import InvalidValue
from service.table.names import nearest, no_id, numbered, slug, sought, spelt

ACUTE, TILDE, CIRCLE = "\u0301", "\u0303", "\u20dd"
ZWJ, ZWSP, JOINER = "\u200d", "\u200b", "\u034f"

KEPT = [
    # given, kept
    ("Zoé", "Zoé"),
    ("Zoe" + ACUTE, "Zoé"),  # composed
    ("  Max\t\n", "Max"),
    ("\u3000Max\u00a0", "Max"),
    ("Jean  Luc", "Jean  Luc"),
    ("🎲", "🎲"),
    ("👩‍👩‍👧", "👩‍👩‍👧"),  # joined by ZWJ
    ("❤️‍🔥", "❤️‍🔥"),
    ("محمد", "محمد"),
    ("שָׁלוֹם", unicodedata.normalize("NFC", "שָׁלוֹם")),
    ("ကျော်", "ကျော်"),
    ("လျှော့", "လျှော့"),  # two marks, and three vowel signs with room of their own
    ("Ｍａｘ", "Ｍａｘ"),  # as it was spelt
    ("L’Œil d'Or", "L’Œil d'Or"),
    ("@everyone", "@everyone"),
    ("<b onclick=\"alert('x')\">Max</b>", "<b onclick=\"alert('x')\">Max</b>"),
    ("*_`~|\\", "*_`~|\\"),
    ("a", "a"),
    ("a" * 64, "a" * 64),
    ("é" * 64, "é" * 64),
    (("e" + ACUTE) * 64, "é" * 64),  # 64 after normalisation
    (" " * 40 + "a" * 64 + " " * 40, "a" * 64),
    ("🎲" * 64, "🎲" * 64),
    ("\u0958" * 32, "\u0915\u093c" * 32),  # becomes longer
    ("a" + TILDE * 4, "ã" + TILDE * 3),
    (("a" + TILDE * 4) * 2, ("ã" + TILDE * 3) * 2),
    ("a" + CIRCLE * 4, "a" + CIRCLE * 4),
    ("ế" + TILDE * 2, "ế" + TILDE * 2),  # two that are composed, and two more
]


@pytest.mark.parametrize(("given_", "kept"), KEPT)
def test_names_are_kept_as_spelt(given_, kept):
    assert spelt("name", given_) == kept
    assert spelt("name", kept) == kept


REFUSED = [
    # name, problem
    ("", "empty_name"),
    (" \t ", "empty_name"),
    (ZWSP, "empty_name"),
    (ZWJ + " " + ZWJ, "empty_name"),
    (ACUTE, "empty_name"),
    ("\u00ad", "empty_name"),
    ("a" * 65, "text_too_long"),
    (("e" + ACUTE) * 65, "text_too_long"),
    ("🎲" * 65, "text_too_long"),
    ("\u0958" * 33, "text_too_long"),  # 66 after normalisation
    ("a" + TILDE * 5, "too_many_marks"),
    ("ab" + TILDE * 5 + "c", "too_many_marks"),
    ("ế" + TILDE * 3, "too_many_marks"),
    ("a" + CIRCLE * 5, "too_many_marks"),
    ("a" + TILDE * 3 + JOINER + TILDE, "too_many_marks"),  # a joiner that is a mark itself
    ("a" + TILDE * 4 + ZWJ + TILDE, "too_many_marks"),  # a joiner that is none
    ("क" + "\u093c" * 4 + "\u093e\u0902", "too_many_marks"),
    *((f"Ma{control}x", "pattern") for control in "\0\a\t\n\r\x1b\x7f\x80\x85\x9f\u2028\u2029"),
    *((f"Ma{turn}x", "pattern") for turn in "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"),
    ("\u202exaM", "pattern"),
]


@pytest.mark.parametrize(("name", "problem"), REFUSED)
def test_names_that_cannot_be_kept_are_refused(name, problem):
    with pytest.raises(InvalidValue) as refusal:
        spelt("body.name", name)
    assert (refusal.value.field, refusal.value.problem) == ("body.name", problem)


SAME = [
    # kept, typed
    ("Zoé", "zoé"),
    ("Zoé", "ZOÉ"),
    ("Zoé", "Zoe" + ACUTE),
    ("Zoé", " zoé\t"),
    ("Zoé", "ＺＯÉ"),
    ("Ｍａｘ", "max"),
    ("L’Œil", "l'œil"),
    ("L'Œil", "L’ŒIL"),
    ("L'Œil", "L＇Œil"),
    *(("O'Hara", f"o{apostrophe}hara") for apostrophe in "’ʼ‘`´′"),
    ("Jean Luc", "jean   luc"),
    ("Jean Luc", "Jean\u00a0Luc"),
    ("Straße", "STRASSE"),
    ("ΣΊΣΥΦΟΣ", "σίσυφος"),
    ("ﬁn", "FIN"),
    ("ŉ", "'n"),
    ("\u1fefn", "'n"),  # two that Unicode composes to ` and ´
    ("\u1ffdn", "'n"),
    ("한글", unicodedata.normalize("NFD", "한글")),
    ("ﾊﾝｸﾞﾙ", "ハングル"),
    ("محمد", "محمد "),
    ("👩‍👩‍👧", "👩‍👩‍👧"),
]


@pytest.mark.parametrize(("kept", "typed"), SAME)
def test_a_name_is_found_however_it_is_typed(kept, typed):
    assert sought(kept) == sought(typed)
    assert sought(spelt("name", kept)) == sought(typed)


OTHERS = [("Zoé", "Zoe"), ("Max", "Maxx"), ("L’Œil", "LŒil"), ("👩‍👩‍👧", "👩👩👧"), ("Jean Luc", "JeanLuc"), ("ø", "o")]


@pytest.mark.parametrize(("one", "other"), OTHERS)
def test_names_that_differ_are_not_one(one, other):
    assert sought(one) != sought(other)


@settings(deadline=None)
@given(name=st.text(min_size=1, max_size=80))
def test_a_name_that_is_kept_is_found_composed_or_not(name):
    try:
        kept = spelt("name", name)
    except InvalidValue:
        return
    assert 1 <= len(kept) <= 64
    assert spelt("name", kept) == kept
    for form in ("NFC", "NFD"):
        assert sought(unicodedata.normalize(form, f" {name} ")) == sought(kept)


SLUGS = [
    ("Zoé", "zoe"),
    ("Œdipe", "oedipe"),
    ("L’Œil d’Or", "l-oeil-d-or"),
    ("Jean-Luc  Picard!", "jean-luc-picard"),
    ("Straße", "strasse"),
    ("Ｍａｘ", "max"),
    ("<b>Max</b>", "b-max-b"),
    ("@everyone", "everyone"),
    ("R2_D2", "r2-d2"),
    ("محمد", ""),
    ("🎲", ""),
    ("--", ""),
    ("🎲 2", "2"),
    ("a" * 64, "a" * 64),
    ("ﬃ" * 64, "ffi" * 21 + "f"),
    ("ﬃ" * 21 + " b", "ffi" * 21),
]


@pytest.mark.parametrize(("name", "expected"), SLUGS)
def test_ids_are_made_of_what_can_be_said_in_ascii(name, expected):
    assert slug(name) == expected


NUMBERED = [
    # id, number, id with the number
    ("zoe", 1, "zoe-1"),
    ("a" * 64, 8, "a" * 58 + "-8"),
    ("a" * 64, 99_999, "a" * 58 + "-99999"),
    ("a" * 64, 10**14, "a" * 48 + "-" + str(10**14)),
]


@pytest.mark.parametrize(("wanted", "number", "expected"), NUMBERED)
def test_a_number_behind_an_id_leaves_it_one(wanted, number, expected):
    assert numbered(wanted, number) == expected
    assert len(expected) <= 64


NEAREST = [
    ("zoo", ("Zoé",)),
    ("ZOE", ("Zoé",)),
    ("maxx", ("Max", "Maxine")),
    ("nobody at all", ()),
    ("MAXINA", ("Maxine", "Max")),
    ("xin", ("Maxine",)),
    ("maz", ("Max",)),
    ("nax eve", ()),
]


@pytest.mark.parametrize(("typed", "names"), NEAREST)
def test_the_nearest_names(typed, names):
    assert nearest(typed, ["Zoé", "Max", "Maxine", "محمد"]) == names


def test_at_most_three_are_near():
    assert len(nearest("max", ["max1", "max2", "max3", "max4"])) == 3
    assert len(nearest("max", ["Max", "MAX", "max", "mäx"])) == 3


IDS = {
    "zoe": ("Zoé",),
    "zoe-2": ("Zoe Two",),
    "light": ("Complications légères", "légère"),
    "grave": ("grave",),
    "a": ("B",),
    "b": ("A",),
}
NO_ID = [
    # what was given, the id that is meant by it, else the nearest
    ("Zoé", "zoe", ()),
    ("ZOE", "zoe", ()),
    ("zoe two", "zoe-2", ()),
    ("Légère", "light", ()),
    ("complications legeres", "light", ()),
    ("légere.", None, ("light",)),
    ("zoe3", None, ("zoe", "zoe-2")),
    ("lights", None, ("light",)),
    ("dragon", None, ()),
    ("A", None, ("a", "b")),
]  # fmt: skip


@pytest.mark.parametrize(("given_", "meant", "near"), NO_ID)
def test_who_gives_no_id_is_told_which_is_meant(given_, meant, near):
    refusal = no_id("deck", given_, IDS)
    assert (refusal.meant, refusal.nearest) == (meant, (meant,) if meant else near)
