"""The longest answers in the least room: 72 dice, names of 64 characters, eight active cards, in both languages."""

from unicodedata import normalize

import pytest

from service.render.targets import GRAPHEME, roll20_line
from tests.live import Table
from tests.render.readers import READERS, plain, roll20, roll20_title

pytestmark = pytest.mark.anyio

ALL = "markdown,slack,html,roll20"
NAMES = ["👨‍👩‍👧‍👦" * 9, "[" * 64, "&" * 64, "*" * 64, "ë" * 64, "a\u0301\u0323\u0302\u0308" * 12, "mmm mmm " * 8]
MOST = 390
SIX_WAVES = [6] * 60 + [1] * 12


@pytest.fixture(scope="module", params=NAMES, ids=lambda name: ascii(name[:3]))
async def asked(request, client):
    """What there is to ask for of a character with this name, who holds eight cards of the table's own deck."""
    name = request.param
    table = await Table.open(client, characters=[name])
    await table.mint("chat", "chat")
    (who,) = [each["id"] for each in (await table.get("/characters"))["characters"]]
    cards = [{"card": f"c-{n}", "name": name[:64], "effect": (name * 5)[:300]} for n in range(8)]
    assert (await table.ask("PUT /decks/own", {"name": name, "cards": cards})).is_success
    drawn = await table.ask("POST /decks/own/draws", {"count": 8, "character": who}, key="draw")
    assert len(drawn.json()["cards"]) == 8
    roll = {"base": 6, "red": 6, "difficulty": "hard", "label": name, "faces": SIX_WAVES}
    return table, [
        (f"POST /characters/{who}/sixd6/rolls", roll),
        ("POST /decks/own/draws", {"count": 8, "character": who}),
        ("GET /cards", None),
        ("GET /state", None),
        (f"GET /characters/{who}/sixd6/healing", None),
    ]


async def answers(asked, **bounds):
    table, lines = asked
    for lang in ("en", "fr"):
        for line, body in lines:
            key = None if body is None else "draw" if "draws" in line else "roll"
            yield [(await table.ask(line, body, key=key, lang=lang, include=ALL, **each)).json() for each in ({}, bounds)]


def begins_like(read, whole):
    """Read back, it is the sentence or its beginning, which ends between two characters."""
    graphemes = GRAPHEME.findall(whole)
    kept = read.removesuffix("…")
    beginnings = ("".join(graphemes[:n]) for n in range(len(graphemes) + 1))
    return read == plain(whole) or any(plain(each).rstrip(" ,;:·+→") == kept for each in beginnings)


async def test_characters(asked):
    cut = 0
    async for whole, bounded in answers(asked, max=MOST):
        assert len(bounded["text"]) <= MOST
        for target, written in bounded["renderings"].items():
            assert len(written) <= MOST, target
            cut += len(whole["renderings"][target]) > MOST
            assert all(begins_like(reader(written), whole["text"]) for reader in READERS[target]), target
    assert cut >= 8


async def test_bytes(asked):
    async for whole, bounded in answers(asked, max_bytes=MOST):
        assert len(bounded["text"].encode()) <= MOST
        for target, written in bounded["renderings"].items():
            assert len(written.encode()) <= MOST, target
            assert all(begins_like(reader(written), whole["text"]) for reader in READERS[target]), target


@pytest.mark.parametrize("bound", ["max", "max_bytes"])
@pytest.mark.parametrize("form", ["text", "markdown"])
async def test_a_sentence_alone(asked, bound, form):
    table, lines = asked
    for line, body in lines:
        key = None if body is None else "draw" if "draws" in line else "roll"
        answer = await table.ask(line, body, key=key, format=form, **{bound: MOST})
        said = answer.text.removesuffix("\n")
        assert len(said.encode() if bound == "max_bytes" else said) <= MOST
        assert len(said.splitlines()) == 1


@pytest.mark.parametrize("lang", ["en", "fr"])
@pytest.mark.parametrize("what", ["cards", "timers", "roll"])
async def test_a_one_liner(asked, what, lang):
    """Nightbot prints fewer than 400 characters."""
    table, _ = asked
    (name,) = [each["name"] for each in (await table.get("/characters"))["characters"]]
    query = {"token": table.tokens["chat"], "max": MOST, "lang": lang, "character": name}
    told = {"base": 6, "red": 6, "label": name} if what == "roll" else {}
    answer = await table.client.get(f"/v1/quick/{table.id}/{what}", params={**query, **told})
    assert answer.status_code == 200, answer.text
    said = answer.text.removesuffix("\n")
    assert len(said) <= MOST
    composed = [normalize("NFC", grapheme) for grapheme in GRAPHEME.findall(said)]
    assert {grapheme for grapheme in composed if len(grapheme) > 1} <= set(GRAPHEME.findall(name))


def test_a_long_title_leaves_room_for_what_happened():
    written = roll20_line("Success. " * 60, title="[" * 100, secret=True, most=MOST)
    assert roll20(written).startswith("Success. Success. Success.")
    assert roll20_title(written).endswith("…")
    assert len(roll20(written)) > MOST // 2
