"""How an answer looks: its language, JSON or a sentence alone, and how long the sentence may be."""

import asyncio

import httpx
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from service.api.answers import shortened
from service.api.presentation import language
from service.app import create_app
from service.settings import Settings

APP = create_app(Settings(redis_url="redis://nowhere", access_log=False))
ROLL = "/v1/sixd6/roll"
FACES = "base=5&red=1&difficulty=hard&faces=6,4,3,2,2,1,5"
SAID = "Failure: 2 successes (Hard asks for 3). Draw 1 light complication card. Dice: 6 4 3 2 2 + red 1 → 5."


def get(url, **headers):
    async def called():
        transport = httpx.ASGITransport(APP)
        async with httpx.AsyncClient(transport=transport, base_url="http://emberdice") as client:
            return await client.get(url, headers=headers)

    return asyncio.run(called())


# The language: the query, then Accept-Language, then English.

LANGUAGES = [
    # query, Accept-Language, language of the answer
    ("", None, "en"),
    ("", "fr", "fr"),
    ("", "fr-CA, en;q=0.8", "fr"),
    ("", "FR", "fr"),
    ("", "en, fr", "en"),
    ("", "fr;q=0.1, en;q=0.2", "en"),
    ("", "fr;Q=0.5, en;q=0.4", "fr"),
    ("", "fr ; q=0.9 , en", "en"),
    ("", "de, fr;q=0.5", "fr"),
    ("", "de", "en"),
    ("", "*", "en"),
    ("", "fr;q=0", "en"),
    ("", "fr;q=0, de", "en"),
    ("", "frx, x-fr", "en"),
    ("", "fr;q=nan, fr;q=high", "en"),
    ("", ";;,,", "en"),
    ("lang=fr", "en", "fr"),
    ("lang=en", "fr", "en"),
    ("lang=", "fr", "fr"),
]


@pytest.mark.parametrize(("query", "accepted", "lang"), LANGUAGES)
@pytest.mark.parametrize("path", ["/v1/systems", ROLL, "/nowhere"])
def test_the_language_of_an_answer(path, query, accepted, lang):
    answer = get(f"{path}?{query}", **({"Accept-Language": accepted} if accepted is not None else {}))
    assert answer.json()["lang"] == answer.headers["content-language"] == lang


def test_the_query_wins_even_where_the_rest_of_it_is_wrong():
    assert get(f"{ROLL}?base=9&lang=fr&format=xml", **{"Accept-Language": "en"}).json()["lang"] == "fr"


@settings(deadline=None)
@given(st.text())
def test_any_accept_language_can_be_read(header):
    assert language(header) in ("fr", "en", None)


# JSON or the sentence alone: the query, then Accept, then JSON.

FORMATS = [
    # query, Accept, whether the sentence alone
    ("", None, False),
    ("", "*/*", False),
    ("", "application/json", False),
    ("", "text/plain", True),
    ("", "TEXT/Plain", True),
    ("", "text/*", True),
    ("", "text/plain; charset=utf-8", True),
    ("", "text/plain, */*", True),
    ("", "text/plain;q=0.9, application/json;q=0.5", True),
    ("", "text/plain;q=0.1, application/json", False),
    ("", "text/plain;q=0.1, application/json;q=0", True),
    ("", "text/plain;q=0", False),
    ("", "text/plain;q=0.000, application/json", False),
    ("", "application/json, text/plain", False),
    ("", "text/html, text/plain;q=0.9, */*;q=0.8", True),
    ("", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", False),
    ("", "text/html", False),
    ("", "image/png", False),
    ("", "application/problem+json", False),
    ("", "nonsense", False),
    ("", ";q=,/", False),
    ("format=text", "application/json", True),
    ("format=json", "text/plain", False),
    ("format=", "text/plain", True),
]


@pytest.mark.parametrize(("query", "accepted", "alone"), FORMATS)
def test_the_form_of_an_answer(query, accepted, alone):
    headers = {"Accept": accepted} if accepted is not None else {}
    rolled, refused = get(f"{ROLL}?{FACES}&{query}", **headers), get(f"{ROLL}?base=9&{query}", **headers)
    assert (rolled.status_code, refused.status_code) == (200, 422)
    if alone:
        assert rolled.text == f"{SAID}\n"
        assert refused.text == "Nothing was rolled and nothing changed. query.base: must be at most 6\n"
        assert rolled.headers["content-type"] == refused.headers["content-type"] == "text/plain; charset=utf-8"
    else:
        assert rolled.json()["text"] == SAID
        assert rolled.headers["content-type"] == "application/json"
        assert refused.headers["content-type"] == "application/problem+json"


# How long the sentence may be.

SHORTENED = [
    # most characters, what is left of SAID
    (20, "Failure: 2 successe…"),  # a whole word would leave half of it or less
    (25, "Failure: 2 successes…"),
    (30, "Failure: 2 successes (Hard…"),
    (31, "Failure: 2 successes (Hard…"),
    (40, "Failure: 2 successes (Hard asks for…"),
    (72, "Failure: 2 successes (Hard asks for 3). Draw 1 light complication…"),
    (98, "Failure: 2 successes (Hard asks for 3). Draw 1 light complication card. Dice: 6 4 3 2 2 + red 1…"),
    (99, "Failure: 2 successes (Hard asks for 3). Draw 1 light complication card. Dice: 6 4 3 2 2 + red 1…"),
    (100, SAID),
    (10_000, SAID),
]


@pytest.mark.parametrize(("most", "left"), SHORTENED)
def test_a_sentence_is_cut_after_a_whole_word(most, left):
    assert len(SAID) == 100
    assert get(f"{ROLL}?{FACES}&max={most}").json()["text"] == left
    assert get(f"{ROLL}?{FACES}&max={most}&format=text").text == f"{left}\n"


def test_every_sentence_is_cut():
    for url in ("/v1/systems", "/v1/sixd6/odds?base=6", "/v1/sixd6/odds/table", "/problems/busy", "/nowhere", ROLL):
        pairs = "&max=20" if "?" in url else "?max=20"
        assert len(get(url + pairs).json()["text"]) <= 20


@pytest.mark.parametrize(
    "url", [f"{ROLL}?{FACES}", f"{ROLL}?{FACES}&lang=fr", "/v1/sixd6/odds/table?lang=fr", "/nowhere?lang=fr", ROLL]
)
@pytest.mark.parametrize("most", [20, 41, 90])
def test_a_sentence_may_be_bounded_in_bytes(url, most):
    text = get(f"{url}{'&' if '?' in url else '?'}max_bytes={most}").json()["text"]
    assert len(text.encode()) <= most
    assert "\n" not in text


@pytest.mark.parametrize("query", [FACES, "base=9", "base=0&label=*a*_b_"])
@pytest.mark.parametrize("most", [20, 60])
def test_a_sentence_is_bounded_in_markdown_too(query, most):
    answer = get(f"{ROLL}?{query}&format=markdown&max={most}")
    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    assert len(answer.text.removesuffix("\n")) <= most


def test_a_problem_keeps_its_detail_and_says_the_cause_where_there_is_little_room():
    problem = get(f"{ROLL}?base=9&max=30").json()
    assert problem["text"] == "query.base: must be at most 6"
    assert problem["detail"].endswith("must be at most 6")


FAMILY, FLAG, ACCENTED = "👨‍👩‍👧‍👦", "🇫🇷", "e\u0301\u0323"


@pytest.mark.parametrize("grapheme", [FAMILY, FLAG, ACCENTED, "👍🏽", "क्षि", "각", "\r\n", "☝️"])
def test_no_character_is_cut_in_two(grapheme):
    for before in range(len(grapheme)):
        cut = shortened("x" * before + grapheme * 40, 20)
        assert len(cut) <= 20
        assert cut[before:-1].replace(grapheme, "") == ""
        assert len(cut) > 20 - 1 - len(grapheme)


def test_a_character_that_is_too_long_alone_leaves_the_mark():
    assert shortened("a" + "\u0301" * 60, 20) == "…"


PIECES = st.sampled_from(
    [
        FAMILY,
        FLAG,
        "🇫",
        ACCENTED,
        "word",
        "a",
        " ",
        "  ",
        ", ",
        ". ",
        " → ",
        " · ",
        "…",
        "\u0301",
        "\u200d",
        "\u0600",
        "ᄀ",
        "ᅡ",
    ]
)
SENTENCES = st.one_of(st.lists(PIECES, max_size=60).map("".join), st.text())
MOST = st.integers(20, 60)


@settings(deadline=None)
@given(SENTENCES, MOST)
def test_a_sentence_is_at_most_as_long_as_asked_and_begins_like_the_whole(sentence, most):
    cut = shortened(sentence, most)
    assert len(cut) <= most
    assert cut == sentence or (cut.endswith("…") and sentence.startswith(cut[:-1]))


@settings(deadline=None)
@given(SENTENCES, MOST)
def test_a_sentence_is_cut_between_characters(sentence, most):
    cut = shortened(sentence, most)
    whole = regex.findall(r"\X", sentence)
    assert cut == sentence or cut[:-1] in {"".join(whole[:n]) for n in range(len(whole))}


@settings(deadline=None)
@given(SENTENCES, MOST)
def test_a_short_sentence_is_left_alone(sentence, more):
    assert shortened(sentence, len(sentence) + more) == shortened(sentence, None) == sentence


@pytest.mark.parametrize("quality", ["inf", "1e400", "nan", "-1", "x", "0x1", "1" * 400])
@pytest.mark.parametrize("header", ["Accept", "Accept-Language"])
async def test_a_quality_that_is_no_number_is_no_fault_of_ours(client, header, quality):
    value = "text/plain" if header == "Accept" else "fr"
    answer = await client.get("/v1/sixd6/roll?base=1", headers={header: f"{value};q={quality}"})
    assert answer.status_code == 200
