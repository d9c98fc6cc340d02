"""Whatever somebody is called, every place that shows an answer reads the words that were meant, and nothing else."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.render import foundry, targets
from service.table.names import spelt
from tests.live import Table
from tests.render import readers
from tests.render.hostile import HOSTILE, REFUSED
from tests.render.readers import READERS, plain

pytestmark = pytest.mark.anyio

ALL = "markdown,slack,html,roll20,foundry"
NAMED = pytest.mark.parametrize("name", HOSTILE, ids=[ascii(name)[:30] for name in HOSTILE])


def read_back(answer):
    """Every rendering of an answer says its sentence."""
    for target, each in READERS.items():
        for reader in each:
            assert reader(answer["renderings"][target]) == plain(answer["text"]), target
    for roll in answer["renderings"]["foundry"]:
        assert readers.flavor(roll["options"]["flavor"]) == readers.roll20_title(answer["renderings"]["roll20"])


async def said(table, line, body=None, **told):
    """The answer with all renderings, once they are read back."""
    answer = await table.ask(line, body, include=ALL, **told)
    assert answer.is_success, answer.text
    read_back(answer.json())
    return answer.json()


@pytest.fixture(scope="module")
async def token_and_table(client):
    table = await Table.open(client)
    await table.mint("chat", "chat")
    return table


@NAMED
async def test_a_character(token_and_table, name):
    table = token_and_table
    added = await table.ask("POST /characters", {"name": name, "id": f"c-{HOSTILE.index(name)}"})
    assert added.status_code == 201, added.text
    who, shown = added.json()["id"], spelt("name", name)
    answer = await said(table, f"POST /characters/{who}/sixd6/rolls", {"base": 2, "red": 1, "faces": [5, 2, 3]})
    assert answer["text"].startswith(shown)
    log = await said(table, "GET /events", limit=2, order="desc")
    alone = [await table.ask("GET /events", limit=2, order="desc", format=each) for each in ("text", "markdown")]
    assert alone[0].text == f"{log['text']}\n"
    assert {reader(alone[1].text.removesuffix("\n")) for reader in READERS["markdown"]} == {plain(log["text"])}
    assert [line.startswith(shown) for line in log["text"].splitlines()] == [True, True]
    assert (await table.ask(f"DELETE /characters/{who}")).status_code == 200


@NAMED
async def test_a_label(token_and_table, name):
    answer = await said(token_and_table, "POST /sixd6/rolls", {"base": 1, "red": 1, "faces": [5, 2], "label": name})
    assert answer["text"].startswith(name)
    assert readers.roll20_title(answer["renderings"]["roll20"]) == plain(name)
    assert len(answer["renderings"]["foundry"]) == 1


@NAMED
async def test_a_card_and_what_it_does(token_and_table, name):
    table = token_and_table
    deck = {"name": name, "cards": [{"card": "one", "name": name, "effect": name}]}
    made = await said(table, "PUT /decks/own", deck)
    assert name in made["text"]
    drawn = await said(table, "POST /decks/own/draws", {"table": True})
    assert drawn["text"].count(name) >= 2
    active = await said(table, "GET /cards")
    assert active["text"].count(name) >= 3
    assert active["cards"][0]["name"] == active["cards"][0]["effect"] == name
    gone = await said(table, "POST /discards", {"all": True})
    assert name in gone["text"]


@NAMED
async def test_a_one_liner(token_and_table, name):
    table = token_and_table
    address = f"/v1/quick/{table.id}/roll?base=0&token={table.tokens['chat']}&label={quote(name)}"
    text, flat = [await table.client.get(f"{address}&format={each}&include={ALL}") for each in ("text", "json")]
    assert text.text == f"{flat.json()['text']}\n"
    assert text.text.startswith(name)
    assert len(text.text.splitlines()) == 1
    assert text.headers["content-type"] == "text/plain; charset=utf-8"
    read_back(flat.json())


@pytest.mark.parametrize("name", REFUSED, ids=ascii)
async def test_what_breaks_a_line_or_turns_it_around_is_nobodys_name_and_is_not_said_again(token_and_table, name):
    table = token_and_table
    bodies = [
        ("POST /characters", {"name": name}),
        ("POST /sixd6/rolls", {"base": 1, "label": name}),
        ("PUT /decks/own", {"name": "own", "cards": [{"card": "one", "name": name}]}),
        ("PUT /decks/own", {"name": "own", "cards": [{"card": "one", "name": "x", "effect": name}]}),
        ("POST /sixd6/rolls", {name: 1}),
        ("POST /sixd6/rolls", {"base": 1, "difficulty": name}),
    ]
    for line, body in bodies:
        refused = await table.ask(line, body, format="text")
        assert refused.status_code == 422
        assert name not in refused.text
        assert len(refused.text.splitlines()) == 1


@NAMED
async def test_what_a_problem_says_again(token_and_table, name):
    """Unknown members are named in the refusal: as much a way in as a name."""
    told = (await token_and_table.ask("POST /sixd6/rolls", {"base": 1, name: 1})).json()["text"]
    written = await token_and_table.ask("POST /sixd6/rolls", {"base": 1, name: 1}, format="markdown")
    assert written.status_code == 422
    for reader in READERS["markdown"]:
        assert reader(written.text.removesuffix("\n")) == plain(told)


# Any text at all.

PIECES = st.sampled_from(
    [*HOSTILE, *"*_~`|<>[](){}#:@&\\.-+=!$%?/;,'\"^", " ", "1", "a", "http", "://", "www", "\u0301", "é"]
)
LETTERS = st.characters(exclude_categories=["C", "Z"])
TEXTS = st.one_of(st.lists(PIECES, max_size=8).map("".join), st.text(LETTERS)).filter(str.strip)
WRITERS = {
    "markdown": targets.markdown,
    "slack": targets.slack,
    "html": targets.html_paragraph,
    "roll20": lambda text: targets.roll20_line(text, title="6d6", secret=False),
}
MOST = st.one_of(st.none(), st.integers(60, 200))


@given(TEXTS)
def test_any_text_is_read_back(text):
    for target, write in WRITERS.items():
        for reader in READERS[target]:
            assert reader(write(text)) == plain(text), target


@given(TEXTS)
def test_any_flavor_is_read_back(text):
    class Die:
        kind, face, sides, wave = "base", 5, 6, 0

    (roll,) = foundry.rolls([Die()], flavor=text)
    assert readers.flavor(roll.options["flavor"]) == plain(text)


@given(TEXTS, MOST, MOST)
def test_any_text_is_cut_between_characters_and_within_its_bounds(text, most, most_bytes):
    graphemes = targets.GRAPHEME.findall(text)
    beginnings = {plain(targets._cut(graphemes, n)) for n in range(len(graphemes) + 1)}
    for target, write in WRITERS.items():
        if target == "roll20":
            written = targets.roll20_line(text, title=text, secret=False, most=most, most_bytes=most_bytes)
        else:
            written = targets.fitting(text, most, most_bytes, write)
        assert most is None or len(written) <= most
        assert most_bytes is None or len(written.encode()) <= most_bytes
        for reader in READERS[target]:
            assert reader(written) in {plain(text), *beginnings}, target


@given(TEXTS, st.integers(20, 59), st.booleans())
def test_a_line_for_roll20_fits_where_its_template_does_not(text, most, secret):
    written = targets.roll20_line(text, title=text, secret=secret, most=most)
    assert len(written) <= most
    assert written.startswith("/w gm ") == secret
    readers.roll20(written, bare="{" not in written)
