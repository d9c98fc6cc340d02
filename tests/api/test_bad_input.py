"""What cannot be right is refused by name, in both languages, as a problem document, and before any die is rolled."""

import asyncio
import json
import time
from urllib.parse import unquote_to_bytes

import httpx
import pytest

from service.app import create_app
from service.dice import Chance
from service.settings import Settings


class NoChance(Chance):
    def below(self, end):
        raise AssertionError(f"a die with {end} sides was rolled")


NOWHERE = "redis://nowhere"
APP = create_app(Settings(redis_url=NOWHERE, access_log=False), NoChance())
JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}

ROLLS, ROLL, BATCH = "/v1/sixd6/rolls", "/v1/sixd6/roll", "/v1/sixd6/rolls/batch"
DAMAGE = "/v1/sixd6/damage"
ACTIONS, ACTION, BURN_DAMAGE, BUILD = "/v1/burn2d6/rolls", "/v1/burn2d6/roll", "/v1/burn2d6/damage", "/v1/burn2d6/build"


def call(method, url, app=APP, **told):
    async def called():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://emberdice") as client:
            return await client.request(method, url, **told)

    return asyncio.run(called())


def refused(status, code, method, url, *, headers=None, soft=False, **told):
    """The problem in English, after the same in French was looked at."""
    french, english = (
        call(method, url, headers={**(headers or {}), "Accept-Language": lang}, **told) for lang in ("fr", "en")
    )
    for answer, lang in ((french, "fr"), (english, "en")):
        problem = answer.json()
        assert answer.status_code == (200 if soft else status), answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.headers["content-language"] == problem["lang"] == lang
        assert answer.headers["cache-control"] == "no-store"
        assert (problem["status"], problem["code"], problem["type"]) == (status, code, f"/problems/{code}")
        assert problem["title"]
        assert problem["text"] == problem["detail"]
        assert all(error["problem"] in problem["text"] for error in problem["errors"][:1])
    assert french.json()["text"] != english.json()["text"]
    assert places(french.json()) == places(english.json())
    return english.json()


def places(problem):
    return [error["at"] for error in problem["errors"]]


def posted(path, body):
    """A body that is written by hand, because no encoder would write it."""
    return {"method": "POST", "url": path, "headers": JSON, "content": body.encode()}


# JSON bodies: values that are not what they should be.


@pytest.mark.parametrize(
    "value",
    ["1.0", "1e0", "1e400", "-0.0", '"3"', "true", "null", "[1]", "{}", "-1", "7", "9" * 26, "-" + "9" * 26, "9" * 5_000],
    ids=lambda value: value[:30],
)
def test_a_number_of_dice_is_an_integer_within_its_bounds(value):
    assert places(refused(422, "invalid-request", **posted(ROLLS, f'{{"base": {value}}}'))) == ["body.base"]


WRONG_MEMBERS = [
    # path, body, members at fault
    (ROLLS, '{"base": 5, "bass": 1}', ["body.bass"]),
    (ROLLS, '{"red": 1}', ["body.base"]),
    (ROLLS, '{"base": 9, "red": -1, "x": 1}', ["body.x", "body.base", "body.red"]),
    (ROLLS, '{"base": 1, "difficulty": "Facile"}', ["body.difficulty"]),
    (ROLLS, '{"base": 1, "visibility": "secret"}', ["body.visibility"]),
    (ROLLS, '{"base": 1, "roll_rest": 1}', ["body.roll_rest"]),
    (ROLLS, '{"base": 1, "faces": [1.0]}', ["body.faces[0]"]),
    (ROLLS, '{"base": 2, "faces": [1, "2"]}', ["body.faces[1]"]),
    (ROLLS, '{"base": 1, "faces": "1"}', ["body.faces"]),
    (ROLLS, json.dumps({"base": 1, "faces": [1] * 1_001}), ["body.faces"]),
    (ROLLS, '{"base": 1, "label": ""}', ["body.label"]),
    (ROLLS, json.dumps({"base": 1, "label": "x" * 101}), ["body.label"]),
    (ROLLS, '{"base": 1, "label": "a\\u0000b"}', ["body.label"]),
    (ROLLS, '{"base": 1, "label": "a\\nb"}', ["body.label"]),
    (ROLLS, '{"base": 1, "label": "\\u202eabc"}', ["body.label"]),
    (ROLLS, "null", ["body"]),
    (ROLLS, "[]", ["body"]),
    (ROLLS, '"base"', ["body"]),
    (BATCH, '{"rolls": []}', ["body.rolls"]),
    (BATCH, json.dumps({"rolls": [{"base": 1}] * 21}), ["body.rolls"]),
    (BATCH, '{"rolls": [{"base": 1}, {"base": 7}]}', ["body.rolls[1].base"]),
    (BATCH, '{"rolls": [{"base": 1}, {"bass": 7}]}', ["body.rolls[1].bass"]),
    (DAMAGE, '{"die": "d7"}', ["body.die"]),
    (DAMAGE, '{"die": "d8", "protections": ["medium"]}', ["body.protections[0]"]),
    (DAMAGE, '{"die": "d8", "protections": ["light", "light"]}', ["body.protections[1]"]),
    (DAMAGE, '{"die": "d8", "soak": {"base": 4}}', ["body.soak.kind"]),
    (DAMAGE, '{"die": "d8", "soak": {"kind": "luck", "base": 4}}', ["body.soak.kind"]),
    (DAMAGE, '{"die": "d8", "soak": {"kind": "grit", "base": 4, "max_conversions": 1}}', ["body.soak.max_conversions"]),
    (BURN_DAMAGE, '{"stats": {}, "hit": {"move": 1}}', ["body.stats"]),
    (BURN_DAMAGE, '{"stats": {"move": {"value": 4, "burned": 5}}, "hit": {"move": 1}}', ["body.stats.move.burned"]),
    (BURN_DAMAGE, '{"stats": {"soul": {"value": 4}, "move": {"value": 0}}, "hit": {"move": 1}}', ["body.stats.move.value"]),
    (BURN_DAMAGE, '{"stats": {"move": {"value": 4, "burn": 1}}, "hit": {"move": 1}}', ["body.stats.move.burn"]),
    (BURN_DAMAGE, '{"stats": {"moov": {"value": 4}}, "hit": {"move": 1}}', ["body.stats.moov"]),
    (BURN_DAMAGE, '{"stats": {"move": {"value": 4}}, "hit": {"moov": 1}}', ["body.hit.moov"]),
    (BURN_DAMAGE, '{"stats": {"move": {"value": 4}}, "hit": {"move": 101}}', ["body.hit.move"]),
    (BUILD, '{"rates": {"stat_burn": 21}}', ["body.rates.stat_burn"]),
    (BUILD, '{"rates": {"burn": 1}}', ["body.rates.burn"]),
]  # fmt: skip


@pytest.mark.parametrize(("path", "body", "at"), WRONG_MEMBERS, ids=lambda part: str(part)[:60])
def test_every_member_at_fault_is_named(path, body, at):
    assert places(refused(422, "invalid-request", **posted(path, body))) == at


REPEATED_KEYS = [
    (ROLLS, '{"base": 1, "base": 1}', ["body.base"]),
    (ROLLS, '{"base": 1, "red": 0, "red": 1, "base": 2}', ["body.base", "body.red"]),
    (BATCH, '{"rolls": [{"base": 1}, {"base": 1, "base": 2}]}', ["body.rolls[1].base"]),
    (DAMAGE, '{"die": "d8", "soak": {"kind": "grit", "kind": "composure", "base": 1}}', ["body.soak.kind"]),
    (BURN_DAMAGE, '{"stats": {"move": {"value": 4}, "move": {"value": 5}}, "hit": {"move": 1}}', ["body.stats.move"]),
    (BURN_DAMAGE, '{"stats": {"move": {"value": 4, "value": 5}}, "hit": {"move": 1}}', ["body.stats.move.value"]),
    (BUILD, '{"rates": {"stat_burn": 1, "stat_burn": 1}}', ["body.rates.stat_burn"]),
]


@pytest.mark.parametrize(("path", "body", "at"), REPEATED_KEYS, ids=lambda part: str(part)[:60])
def test_a_key_stands_once_in_its_object(path, body, at):
    problem = refused(422, "invalid-request", **posted(path, body))
    assert places(problem) == at
    assert problem["errors"][0]["problem"] == "is given more than once"


def test_what_was_sent_is_repeated_without_what_breaks_or_turns_a_line():
    told = {"params": {"ba\nse": "1", "\u202ered": "1", "base": "1"}, "headers": {"Accept": "text/plain"}}
    said = call("GET", ROLL, **told).text
    assert "query.ba\ufffdse" in said
    assert said.count("\n") == 1
    assert "\u202e" not in said


# JSON bodies: what is not JSON.

NOT_JSON = [
    # body, position of the fault in bytes
    (b'{"base": NaN}', 9),
    (b'{"base": -Infinity}', 9),
    (b'\xef\xbb\xbf{"base": 1}', 0),
    (b'{"base": 1, "label": "\xff"}', 22),
    (b'{"base": 1, "label": "\xed\xa0\x80"}', 22),
    (b'{"label": "\\ud800", "base": 1}', 17),
    (b'{"base": 1, "label": "a\x00b"}', 23),
    ('{"base": 1}'.encode("utf-16"), 0),
    (b'{"base": 1', 10),
    (b'{"base": 1}x', 11),
    (b'{"base": 01}', 10),
    (b"{'base': 1}", 1),
    (b'{"base": 1,}', 11),
    (b"base=1", 0),
]


@pytest.mark.parametrize(("body", "position"), NOT_JSON, ids=lambda part: ascii(part)[:40])
def test_what_is_not_json_is_refused_with_the_place(body, position):
    problem = refused(400, "malformed-body", "POST", ROLLS, headers=JSON, content=body)
    assert problem["position"] == position
    assert f"byte {position})" in problem["text"]


@pytest.mark.parametrize("body", [b"", b" \r\n"], ids=ascii)
@pytest.mark.parametrize("path", [ROLLS, BATCH, DAMAGE, ACTIONS])
def test_of_an_empty_body_it_is_said_that_it_is_empty(path, body):
    problem = refused(400, "malformed-body", "POST", path, headers=JSON, content=body)
    assert problem["position"] == 0
    assert problem["text"].startswith("The body is empty.")


@pytest.mark.parametrize(
    "body", [b"[" * 100_000, b'{"a":' * 100_000, b'{"base": 1, "x": ' + b"[" * 100_000], ids=["[", "{", "x"]
)
def test_deep_nesting_is_refused(body):
    refused(400, "malformed-body", "POST", ROLLS, headers=JSON, content=body)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (ROLLS, {f"k{n}": n for n in range(50_000)}),
        (DAMAGE, {"die": "d8", "protections": ["light"] * 80_000}),
        (DAMAGE, {"die": "d8", "protections": [f"p{n}" for n in range(80_000)]}),
    ],
    ids=["unknown keys", "repeated items", "unknown items"],
)
def test_a_large_bad_body_is_refused_without_much_ado(path, body):
    started_s = time.process_time()
    answer = call("POST", path, json=body)
    assert answer.status_code == 422
    assert len(answer.json()["errors"]) <= 100
    assert time.process_time() - started_s < 5


# The Content-Type.


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "text/plain",
        "text/json",
        "application/problem+json",
        "multipart/form-data; boundary=x",
        "application/json; charset=latin-1",
        "application/json; charset=utf-16",
        "application/x-www-form-urlencoded; charset=iso-8859-1",
    ],
)
def test_a_body_needs_its_content_type(content_type):
    headers = {"Content-Type": content_type} if content_type else {}
    refused(415, "unsupported-media-type", "POST", ROLLS, headers=headers, content=b'{"base": 1}')
    answer = call("POST", ROLLS, headers=headers, content=b'{"base": 1}')
    assert answer.headers["accept"] == "application/json, application/x-www-form-urlencoded"


def test_what_cannot_be_flat_takes_no_form():
    refused(415, "unsupported-media-type", "POST", BATCH, headers=FORM, content=b"rolls=1")
    assert call("POST", BATCH, headers=FORM, content=b"rolls=1").headers["accept"] == "application/json"


@pytest.mark.parametrize("body", [b'{"base": 3}', b' \n{"base": "a=b&c"}', b"[1]", b"{"])
@pytest.mark.parametrize("path", [ROLLS, DAMAGE, ACTIONS])
def test_json_that_comes_as_a_form_is_told_its_content_type(path, body):
    problem = refused(415, "unsupported-media-type", "POST", path, headers=FORM, content=body)
    assert places(problem) == ["header.Content-Type"]
    assert "send Content-Type: application/json" in problem["text"]


@pytest.mark.parametrize(
    "content_type", ["application/json", "Application/JSON; Charset=UTF-8", 'application/json;charset="utf-8"']
)
def test_utf_8_may_be_said(content_type):
    assert call("POST", ROLLS, headers={"Content-Type": content_type}, content=b'{"base": 0}').is_success


# Query strings and forms, which are read alike.


def flat(place, path, pairs):
    """The same pairs in a query or as a form."""
    if place == "query":
        return {"method": "GET", "url": f"{path.removesuffix('s')}?{pairs}"}
    return {"method": "POST", "url": path, "headers": FORM, "content": pairs.encode()}


by_query_and_form = pytest.mark.parametrize("place", ["query", "body"])


@by_query_and_form
@pytest.mark.parametrize(
    "value",
    ["1.0", "1e0", "%2B3", "%203", "3%20", "03", "0x1", "1_0", "%D9%A3", "%22", "true", "null", "NaN", "-1", "7", "9" * 26],
)  # fmt: skip
def test_a_flat_number_is_a_canonical_decimal_within_its_bounds(place, value):
    problem = refused(422, "invalid-request", **flat(place, ROLLS, f"base={value}"))
    assert places(problem) == [f"{place}.base"]


WRONG_PAIRS = [
    # pairs, names at fault
    ("base=1&bass=1", ["bass"]),
    ("", ["base"]),
    ("base=", ["base"]),
    ("base", ["base"]),
    ("base=1&base=2", ["base"]),
    ("base=1&base=", ["base"]),
    ("base=1&roll_rest=True", ["roll_rest"]),
    ("base=1&roll_rest=1", ["roll_rest"]),
    ("base=1&difficulty=tough", ["difficulty"]),
    ("base=1&faces=1,", ["faces[1]"]),
    ("base=1&faces=1,,3", ["faces[1]"]),
    ("base=1&faces=,", ["faces[0]", "faces[1]"]),
    ("base=1&faces=1-2-3", ["faces[0]"]),
    ("base=1&faces=1,2;3,x", ["faces[1]", "faces[2]"]),
    ("base=1&faces=[1]", ["faces[0]"]),
    ("base=1&faces=1.0", ["faces[0]"]),
    ("base=1&label=%00", ["label"]),
    ("base=1&label=%E2%80%AE", ["label"]),
    ("base=8&red=8", ["base", "red"]),
]


@by_query_and_form
@pytest.mark.parametrize(("pairs", "names"), WRONG_PAIRS)
def test_every_pair_at_fault_is_named(place, pairs, names):
    problem = refused(422, "invalid-request", **flat(place, ROLLS, pairs))
    assert places(problem) == [f"{place}.{name}" for name in names]


ITEMS = [
    # a list, what is said of its first item at fault
    ("1-2-3", "must be a whole number in plain digits; several are separated by commas, like 1,2,3"),
    ("1,,3", "is empty: one thing stands between two commas, like 1,2,3"),
]


@by_query_and_form
@pytest.mark.parametrize(("faces", "said"), ITEMS)
def test_of_a_list_it_is_said_how_its_items_are_told_apart(place, faces, said):
    assert refused(422, "invalid-request", **flat(place, ROLLS, f"base=1&faces={faces}"))["errors"][0]["problem"] == said


def test_what_is_looked_for_in_a_list_is_named_by_its_item():
    problem = refused(422, "invalid-request", "GET", f"{ROLL}?base=1&include=html,foo")
    assert places(problem) == ["query.include[1]"]


def as_bytes(app):
    """The application, reached by clients that escape nothing in an address, as curl does."""

    async def unescaped(scope, receive, send):
        await app({**scope, "query_string": unquote_to_bytes(scope["query_string"])}, receive, send)

    return unescaped


@pytest.mark.parametrize("place", ["query", "body"])
@pytest.mark.parametrize("label", ["Zoé", "محمد", "🐉"])
def test_what_is_not_escaped_is_read_as_it_is(place, label):
    told = flat(place, ROLLS, f"base=0&difficulty=extrême&label={label}")
    answer = call(**told, app=as_bytes(APP))
    assert answer.status_code == 200, answer.text
    assert (answer.json()["label"], answer.json()["difficulty"]) == (label, "extreme")


@by_query_and_form
@pytest.mark.parametrize("escaped", [True, False])
@pytest.mark.parametrize("soft", [True, False])
def test_what_is_not_utf_8_is_refused_for_that(place, escaped, soft):
    label = b"label=%E9" if escaped else b"label=\xe9"
    told = {"method": "GET", "url": f"{ROLL}?base=0&label=%E9"}
    if place == "body":
        told = {"method": "POST", "url": f"{ROLLS}?", "headers": FORM, "content": b"base=0&" + label}
    told["url"] += "&errors=200" if soft else ""
    problem = refused(422, "invalid-request", **told, soft=soft, app=APP if escaped else as_bytes(APP))
    assert problem["errors"] == [{"at": place, "problem": "is not valid UTF-8"}]


FRENCH_FIRST = [
    # where a game's words are understood, what a French reader is told
    (f"{ROLL}?base=1&difficulty=tough", "Facile (easy), Normale (normal), Difficile (hard), Exceptionnelle (exceptional)"),
    (f"{DAMAGE}?die=d8&soak=luck", "Serrer les dents (grit), Plus de peur que de mal (composure)"),
    (f"{ROLL}?base=1&format=xml", "json, text, markdown"),
]


@pytest.mark.parametrize(("url", "said"), FRENCH_FIRST)
def test_the_words_of_a_closed_set_are_told_in_the_reader_s_language_first(url, said):
    (error,) = call("GET", f"{url}&lang=fr").json()["errors"]
    assert error["problem"].removeprefix("doit être l’une de ces valeurs\u202f: ").startswith(said)


KINDS = [
    # body, what is said in English, in French
    ('{"base": "3"}', "must be a whole number, not text", "doit être un nombre entier, pas un texte"),
    ('{"base": true}', "must be a whole number, not true or false", "doit être un nombre entier, pas true ou false"),
    ('{"base": null}', "must be a whole number, not null", "doit être un nombre entier, pas null"),
    ('{"base": 1, "label": 3}', "must be text or null, not a whole number",
     "doit être un texte ou null, pas un nombre entier"),
    ('{"base": 1, "faces": {}}', "must be a list or null, not an object", "doit être une liste ou null, pas un objet"),
    ("[]", "must be an object, not a list", "doit être un objet, pas une liste"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "english", "french"), KINDS)
def test_kinds_of_values_are_told_in_words(body, english, french):
    for lang, said in (("en", english), ("fr", french)):
        (error,) = call(**{**posted(ROLLS, body), "url": f"{ROLLS}?lang={lang}"}).json()["errors"]
        assert error["problem"] == said


STRAYS = [
    # path, body, what is known where the unknown member stands
    (ROLLS, '{"base": 1, "x": 1}', "base, red, difficulty, faces, roll_rest, label, visibility"),
    (BATCH, '{"rolls": [{"base": 1}, {"bass": 7}]}', "base, red, difficulty, faces, roll_rest, label, visibility"),
    (DAMAGE, '{"die": "d8", "soak": {"kind": "grit", "base": 3, "x": 1}}', "kind, base, red"),
    (DAMAGE, '{"die": "d8", "soak": {"kind": "composure", "base": 3, "x": 1}}', "kind, base, red, max_conversions"),
    (BURN_DAMAGE, '{"stats": {"soul": {"value": 4}, "move": {"value": 4, "x": 1}}, "hit": {"move": 1}}', "value, burned"),
    (BURN_DAMAGE, '{"stats": {"move": {"value": 4}}, "slots": [{"name": "a", "value": 1, "x": 1}], "hit": {"move": 1}}',
     "name, value, burned"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "body", "known"), STRAYS)
def test_with_an_unknown_member_the_known_ones_are_told(path, body, known):
    (error,) = refused(422, "invalid-request", **posted(path, body))["errors"]
    assert error["problem"] == f"is not known here; known are: {known}"


MORE = [
    # what is at fault, the end of the sentence in English, in French
    ("base=9", "base: must be at most 6", "base\u202f: doit valoir au plus 6"),
    ("base=9&red=9", "at most 6; query.red: must be at most 6", "au plus 6\u202f; query.red\u202f: doit valoir au plus 6"),
    ("base=9&red=9&x=1&y=1", "; and 1 more fault", "\u202f; et 1 autre faute"),
    ("base=9&red=9&x=1&y=1&z=1", "; and 2 more faults", "\u202f; et 2 autres fautes"),
]


@pytest.mark.parametrize(("pairs", "english", "french"), MORE)
def test_the_sentence_names_three_faults_and_says_how_many_more_there_are(pairs, english, french):
    for lang, end in (("en", english), ("fr", french)):
        assert call("GET", f"{ROLL}?{pairs}&lang={lang}").json()["text"].endswith(end)


@by_query_and_form
@pytest.mark.parametrize("pairs", ["base=%FF", "base=1&label=%ED%A0%80", "&".join(f"n{n}=1" for n in range(101))])
def test_pairs_that_cannot_be_read_at_all(place, pairs):
    assert places(refused(422, "invalid-request", **flat(place, ROLLS, pairs))) == [place]


@pytest.mark.parametrize(
    ("pairs", "name"),
    [
        ("lang=de", "lang"),
        ("lang=FR", "lang"),
        ("format=xml", "format"),
        ("max=19", "max"),
        ("max=10001", "max"),
        ("max=1e3", "max"),
        ("errors=404", "errors"),
        ("format=json&format=json", "format"),
    ],
)
def test_how_to_answer_is_read_as_strictly(pairs, name):
    assert places(refused(422, "invalid-request", "GET", f"/v1/systems?{pairs}")) == [f"query.{name}"]
    assert places(refused(422, "invalid-request", "POST", f"{ROLLS}?{pairs}", json={"base": 1})) == [f"query.{name}"]


@pytest.mark.parametrize(
    "path", ["/v1/systems", "/v1/sixd6/reference", "/v1/sixd6/odds/table", "/health/live", "/problems/busy"]
)
def test_a_path_that_asks_nothing_takes_no_query(path):
    assert places(refused(422, "invalid-request", "GET", f"{path}?base=1")) == ["query.base"]


def test_a_rolling_post_takes_its_members_in_the_body_only():
    assert places(refused(422, "invalid-request", "POST", f"{ROLLS}?base=1", json={"base": 1})) == ["query.base"]


def test_a_secret_roll_is_not_asked_for_in_an_address():
    assert places(refused(422, "invalid-request", "GET", f"{ROLL}?base=1&visibility=gm")) == ["query.visibility"]


FLAT_HITS = [
    # what does not go together, and the name at fault
    ("die=d8&soak=grit", "soak_base"),
    ("die=d8&soak_base=3", "soak_base"),
    ("die=d8&soak_red=3", "soak_red"),
    ("die=d8&soak=grit&soak_base=3&max_conversions=1", "max_conversions"),
    ("die=d8&heavy=oui", "heavy"),
    ("die=9mm", "die"),
]


@pytest.mark.parametrize(("pairs", "name"), FLAT_HITS)
def test_a_flat_hit_names_what_does_not_go_together(pairs, name):
    assert places(refused(422, "invalid-request", "GET", f"{DAMAGE}?{pairs}")) == [f"query.{name}"]
    problem = refused(422, "invalid-request", "POST", DAMAGE, headers=FORM, content=pairs.encode())
    assert places(problem) == [f"body.{name}"]


# Faces from outside.


def thrown(count, kind="base", wave=0, sides=6):
    return {"sides": sides, "kind": kind, "wave": wave, "count": count}


MISMATCHES = [
    # path, request, position of the fault, what to throw next
    (ROLLS, {"base": 2, "red": 1, "faces": []}, 0, [thrown(2), thrown(1, "red")]),
    (ROLLS, {"base": 2, "red": 1, "faces": [5]}, 1, [thrown(1), thrown(1, "red")]),
    (ROLLS, {"base": 2, "red": 1, "faces": [5, 5]}, 2, [thrown(1, "red")]),
    (ROLLS, {"base": 1, "red": 1, "faces": [6, 6]}, 2, [thrown(1, wave=1), thrown(1, "red", wave=1)]),
    (ROLLS, {"base": 1, "red": 0, "faces": [6, 6]}, 2, [thrown(1, wave=2)]),
    (ROLLS, {"base": 1, "faces": [5, 5]}, 1, []),
    (ROLLS, {"base": 0, "faces": [1]}, 0, []),
    (ROLLS, {"base": 1, "faces": [5, 5], "roll_rest": True}, 1, []),
    (DAMAGE, {"die": "d8", "faces": [9]}, 0, [thrown(1, "damage", sides=8)]),
    (DAMAGE, {"die": "d8", "protections": ["heavy"], "faces": [7]}, 0, [thrown(1, "damage", sides=6)]),
    (DAMAGE, {"die": "d8", "faces": [9], "roll_rest": True}, 0, [thrown(1, "damage", sides=8)]),
    (DAMAGE, {"die": "d2", "protections": ["heavy"], "faces": [1]}, 0, []),
    (DAMAGE, {"die": "d8", "soak": {"kind": "grit", "base": 1}, "faces": [5, 7]}, 1, [thrown(1)]),
    (DAMAGE, {"die": "d8", "soak": {"kind": "grit", "base": 2, "red": 1}, "faces": [5]}, 1, [thrown(2), thrown(1, "red")]),
    (ACTIONS, {"value": 7, "faces": [1]}, 1, [thrown(1, "action")]),
    (ACTIONS, {"value": 7, "faces": [1, 2, 3]}, 2, []),
]  # fmt: skip


@pytest.mark.parametrize(("path", "asked", "at", "needed"), MISMATCHES, ids=lambda part: str(part)[:60])
def test_faces_are_exactly_those_that_the_roll_needs(path, asked, at, needed):
    problem = refused(422, "faces-mismatch", "POST", path, json=asked)
    assert problem["needed"] == needed
    assert places(problem) == [f"body.faces[{at}]"]


@by_query_and_form
def test_faces_that_do_not_fit_name_their_place_in_queries_and_forms(place):
    problem = refused(422, "faces-mismatch", **flat(place, ROLLS, "base=2&faces=6,5"))
    assert problem["needed"] == [thrown(1, wave=1)]
    assert places(problem) == [f"{place}.faces[2]"]


@pytest.mark.parametrize("face", [0, 7, -1, 9])
def test_no_die_has_such_a_face(face):
    assert places(refused(422, "invalid-request", "POST", ROLLS, json={"base": 1, "faces": [face]})) == ["body.faces[0]"]
    assert places(refused(422, "invalid-request", "GET", f"{ROLL}?base=1&faces={face}")) == ["query.faces[0]"]


def test_a_batch_names_the_roll_whose_faces_do_not_fit():
    rolls = [{"base": 1, "faces": [5]}, {"base": 1, "faces": []}, {"base": 1}]
    assert places(refused(422, "faces-mismatch", "POST", BATCH, json={"rolls": rolls})) == ["body.rolls[1].faces[0]"]


# What the rules of Burn 2d6 refuse.

BURNS = [
    # request, code, member at fault
    ({"value": 5, "dice_count": 1, "spend_surge": True}, "wasted-burn", ["spend_surge"]),
    ({"value": 8, "dice_count": 2, "burn_stat": 2}, "wasted-burn", ["burn_stat"]),
    ({"value": 8, "dice_count": 2, "burn_stat": 1, "helpers": 1}, "wasted-burn", ["burn_stat", "helpers"]),
    ({"value": 8, "burned": 7, "dice_count": 4, "burn_stat": 2}, "burn-too-large", ["burn_stat"]),
    ({"value": 8, "burned_out_count": 2}, "out-of-action", []),
    ({"value": 5, "burned": 5}, "invalid-request", ["burned_out_count"]),
    ({"value": 5, "burned": 6}, "invalid-request", ["burned"]),
    ({"value": 5, "dice_count": 3, "action_difficulty": 3}, "invalid-request", ["dice_count"]),
    ({"value": 0}, "invalid-request", ["value"]),
    ({"value": 21}, "invalid-request", ["value"]),
    ({"value": 5, "dice_count": 6}, "invalid-request", ["dice_count"]),
    ({"value": 5, "helpers": 7}, "invalid-request", ["helpers"]),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "code", "names"), BURNS, ids=lambda part: str(part)[:60])
def test_an_action_that_cannot_be(asked, code, names):
    pairs = "&".join(f"{name}={str(value).lower()}" for name, value in asked.items())
    told = {"body": {"method": "POST", "url": ACTIONS, "json": asked}, "query": flat("query", ACTIONS, pairs)}
    for place, request in told.items():
        assert places(refused(422, code, **request)) == [f"{place}.{name}" for name in names]
    assert places(refused(422, code, **flat("body", ACTIONS, pairs))) == [f"body.{name}" for name in names]


def test_a_batch_names_the_action_that_cannot_be():
    rolls = [{"value": 7, "faces": [1, 1]}, {"value": 5, "burned": 5, "faces": [1, 1]}]
    problem = refused(422, "invalid-request", "POST", f"{ACTIONS}/batch", json={"rolls": rolls})
    assert places(problem) == ["body.rolls[1].burned_out_count"]


# Sizes.


MOST_BYTES = 2_048
SMALL = create_app(Settings(redis_url=NOWHERE, access_log=False, max_body_bytes=MOST_BYTES), NoChance())


async def in_chunks(body):
    for start in range(0, len(body), 500):
        yield body[start : start + 500]


LARGE = json.dumps({"base": 1, "label": "x" * MOST_BYTES}).encode()


@pytest.mark.parametrize("content_type", [JSON, FORM], ids=["json", "form"])
def test_a_body_over_the_limit_is_refused(content_type):
    problem = refused(413, "body-too-large", "POST", ROLLS, app=SMALL, headers=content_type, content=LARGE)
    assert str(MOST_BYTES) in problem["text"]


@pytest.mark.parametrize("lang", ["fr", "en"])
def test_a_body_over_the_limit_is_refused_however_it_arrives(lang):
    answer = call("POST", f"{ROLLS}?lang={lang}", app=SMALL, headers=JSON, content=in_chunks(LARGE))
    assert "content-length" not in answer.request.headers
    assert (answer.status_code, answer.json()["code"], answer.json()["lang"]) == (413, "body-too-large", lang)


def test_a_body_up_to_the_limit_is_read():
    padded = b'{"base": 0}'.ljust(MOST_BYTES)
    assert call("POST", ROLLS, app=SMALL, headers=JSON, content=padded).is_success
    assert call("POST", ROLLS, app=SMALL, headers=JSON, content=padded + b" ").status_code == 413


def test_an_address_over_8_kib_is_refused():
    refused(414, "uri-too-long", "GET", f"{ROLL}?base=1&label={'x' * 9_216}")


def test_headers_over_32_kib_are_refused():
    refused(431, "headers-too-large", "GET", "/v1/systems", headers={"X-Large": "x" * 40_000})


# Paths and methods.


@pytest.mark.parametrize(
    "path",
    [
        "/nowhere",
        "/v1",
        "/V1/systems",
        "/v1/sixd7/rolls",
        "/problems/nothing",
        "/problems/%00",
        "/problems/busy%00",
        "/problems/%2e%2e",
        "/problems/%2e%2e%2fsystems",
        "/problems/busy%2Fbusy",
        "/problems/%FF",
        "/problems/busy%0A",
        "/docs/assets/%2e%2e%2fpages.py",
        "/docs/assets/nothing.js",
    ],
)
def test_nothing_is_at_an_address_that_names_nothing(path):
    assert refused(404, "not-found", "GET", path)["errors"] == []


def test_a_trailing_slash_is_the_same_address():
    assert call("GET", "/v1/systems/").content == call("GET", "/v1/systems").content


METHODS = [
    # method, path, what the path answers
    ("GET", ROLLS, "OPTIONS, POST"),
    ("PUT", ROLLS, "OPTIONS, POST"),
    ("POST", ROLL, "GET, OPTIONS"),
    ("DELETE", "/v1/systems", "GET, HEAD, OPTIONS"),
    ("POST", "/v1/sixd6/reference", "GET, HEAD, OPTIONS"),
    ("PATCH", DAMAGE, "GET, OPTIONS, POST"),
    ("POST", "/openapi.json", "GET, HEAD, OPTIONS"),
]


@pytest.mark.parametrize(("method", "path", "allowed"), METHODS)
def test_a_method_that_a_path_does_not_answer(method, path, allowed):
    problem = refused(405, "method-not-allowed", method, path)
    assert allowed in problem["text"]
    assert method in problem["text"]
    assert call(method, path).headers["allow"] == allowed


@pytest.mark.parametrize("path", [f"{ROLL}?base=1", f"{DAMAGE}?die=d6", f"{ACTION}?value=7"])
def test_a_head_rolls_nothing(path):
    answer = call("HEAD", path)
    assert answer.status_code == 405
    assert "HEAD" not in answer.headers["allow"]
    assert answer.content == b""


# Errors with status 200, for tools that throw the bodies of errors away.

SOFT = [
    # status, code, request
    (422, "invalid-request", {"method": "GET", "url": f"{ROLL}?base=9&errors=200"}),
    (422, "faces-mismatch", {"method": "GET", "url": f"{ROLL}?base=1&faces=6&errors=200"}),
    (422, "invalid-request", {"method": "GET", "url": f"{ROLL}?base=1&lang=de&errors=200"}),
    (422, "invalid-request", {"method": "GET", "url": f"{ROLL}?base=1&label=%FF&errors=200"}),
    (422, "invalid-request", {"method": "GET", "url": f"{ROLL}?errors=200&{'&'.join(f'n{n}=1' for n in range(101))}"}),
    (415, "unsupported-media-type", {"method": "POST", "url": f"{ROLLS}?errors=200", "headers": FORM, "content": b"{}"}),
    (422, "invalid-request", {"method": "POST", "url": f"{ROLLS}?errors=200", "data": {"base": "9"}}),
    (415, "unsupported-media-type", {"method": "POST", "url": f"{BATCH}?errors=200", "data": {"base": "9"}}),
    (404, "not-found", {"method": "GET", "url": "/nowhere?errors=200"}),
    (404, "not-found", {"method": "GET", "url": "/problems/nothing?errors=200"}),
    (405, "method-not-allowed", {"method": "GET", "url": f"{ROLLS}?errors=200"}),
    (431, "headers-too-large", {"method": "GET", "url": "/v1/systems?errors=200", "headers": {"X-Large": "x" * 40_000}}),
]


@pytest.mark.parametrize(("status", "code", "request_"), SOFT, ids=lambda part: str(part)[:60])
def test_an_error_may_come_with_status_200(status, code, request_):
    refused(status, code, **request_, soft=True)


def test_an_error_may_come_with_status_200_to_a_form_however_its_type_is_spelt():
    spelt = {"Content-Type": "Application/X-WWW-Form-Urlencoded; charset=UTF-8"}
    assert call("POST", f"{ROLLS}?errors=200", headers=spelt, content=b"base=9").status_code == 200


@pytest.mark.parametrize("body", [{"base": 1}, {"base": 9}])
def test_a_json_caller_reads_the_status(body):
    problem = refused(422, "invalid-request", "POST", f"{ROLLS}?errors=200", json=body)
    assert places(problem) == ["query.errors"]


def test_a_json_caller_gets_the_status_of_an_error_before_its_body_is_read():
    assert call("POST", f"{ROLL}?errors=200", json={}).status_code == 405
    assert call("POST", "/nowhere?errors=200", json={}).status_code == 404


def test_a_success_does_not_change_with_errors_200():
    assert call("GET", f"{ROLL}?base=0&errors=200").content == call("GET", f"{ROLL}?base=0").content
