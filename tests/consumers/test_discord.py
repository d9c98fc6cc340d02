"""The Discord bot: recorded interactions go through discord.py's own parsing; what it answers is caught at its HTTP edge."""

import json
import os
import re
import sqlite3
import stat
import subprocess
import sys
import threading
import warnings
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

import aiohttp
import pytest
from aiohttp import web

from service.words import Lang
from tests.consumers.discord.edge import Discord, option, recorded
from tests.live import END_S, ROOT, Service
from tests.render import readers

with warnings.catch_warnings():  # until Python 3.12 it imports a module that 3.13 has no more
    warnings.simplefilter("ignore", DeprecationWarning)
    import discord

sys.path.insert(0, str(ROOT / "deploy" / "integrations" / "discord"))
import bot as bot_module  # found by the line above
import emberdice
import words

sys.path.pop(0)

pytestmark = pytest.mark.anyio

KEY = "the-operators"
NUMBERS = count(1_200_000_000_000_000_001)
CHANNEL = 1000000000000000004


class BadLine:
    """Between the bot and the service: refuses, or loses answers, as often as it is told, and keeps what was asked."""

    def __init__(self, address):
        self._address = address
        self.refuses, self.loses, self.asked, self.texts, self.forgets = [], 0, [], [], ""

    async def serve(self, request):
        body = await request.read()
        if request.method == "POST":
            self.asked.append((request.path, request.headers.get("Idempotency-Key")))
            if self.refuses:
                status = self.refuses.pop()
                said = {"text": "Busy.", "code": "busy", "status": status}
                return web.json_response(said, status=status, headers={"Retry-After": "0"})
        headers = {n: v for n, v in request.headers.items() if n.lower() not in ("host", "content-length")}
        async with aiohttp.request(request.method, self._address + request.path_qs, data=body, headers=headers) as answer:
            said = await answer.read()
        if request.method == "POST":
            self.texts.append(said)
            if self.forgets:
                said = json.dumps({name: value for name, value in json.loads(said).items() if name != self.forgets}).encode()
            if self.loses:
                self.loses -= 1
                request.transport.close()
        kept = {
            n: v for n, v in answer.headers.items() if n.lower() in ("content-type", "retry-after", "idempotency-replayed")
        }
        return web.Response(body=said, status=answer.status, headers=kept)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """It asks for its operator's key."""
    service = Service(tmp_path_factory.mktemp("service"), workers=1, EMBERDICE_API_KEY=KEY)
    try:
        yield service.start()
    finally:
        service.kill()


@pytest.fixture(scope="module")
async def line(service):
    line = BadLine(service.address)
    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", line.serve)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    line.address = f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}"
    yield line
    await runner.cleanup()


@pytest.fixture(scope="module")
async def place(line, tmp_path_factory):
    """A bot that is logged in, and the Discord that it is logged in to; a table is open in the recorded channel."""
    place = Discord()
    base = discord.http.Route.BASE
    async with place.listening() as address:
        discord.http.Route.BASE = address
        place.file = tmp_path_factory.mktemp("bot") / "tables.sqlite3"
        place.bot = bot_module.Bot(line.address, place.file, KEY)
        try:
            await place.bot.login("a-bot-token")
            opened = {"name": "open", "type": 1, "options": [option("names", "Zoé, Max,Anne-Lise"), option("tier", 3)]}
            await use(place, "table", [opened])
            yield place
        finally:
            await place.bot.close()
            discord.http.Route.BASE = base


@pytest.fixture(autouse=True)
def quiet_line(line):
    line.refuses, line.loses, line.asked, line.texts, line.forgets = [], 0, [], [], ""


async def use(place, command, options, *, number=None, locale=None, messages=1):
    """The messages that a slash command brings."""
    seen = len(place.messages)
    number = number or next(NUMBERS)
    place.bot._connection.parse_interaction_create(
        recorded("slash", number=number, command=command, options=options, locale=locale)
    )
    await place.until(lambda: len(place.messages) >= seen + messages, END_S)
    return list(place.messages.values())[seen:]


async def suggest(place, command, options, locale="fr"):
    seen = len(place.suggested)
    payload = recorded("autocomplete", number=next(NUMBERS), command=command, options=options, locale=locale)
    place.bot._connection.parse_interaction_create(payload)
    await place.until(lambda: len(place.suggested) > seen, END_S)
    return {each["name"]: each["value"] for each in place.suggested[-1]}


# The commands as Discord is told of them.


async def test_commands_are_within_discords_bounds_and_in_french(place):
    assert [each["name"] for each in place.commands] == [each.name for each in bot_module.COMMANDS]
    named = [*place.commands]
    for each in named:
        named += each.get("options", [])
    for each in named:
        for name in (each["name"], each["name_localizations"]["fr"]):
            assert re.fullmatch(r"[-_'\w]{1,32}", name)
            assert name == name.lower()
        for about in (each["description"], each["description_localizations"]["fr"]):
            assert 1 <= len(about) <= 100
        assert len(each.get("choices", [])) <= 25
        assert all(
            "fr" in choice["name_localizations"] for choice in each.get("choices", []) if choice["value"] != choice["name"]
        )


async def test_required_options_come_first(place):
    for each in place.commands:
        required = [option.get("required", False) for option in each.get("options", [])]
        assert required == sorted(required, reverse=True)


def test_no_french_word_is_left_over(place):
    told = {string for each in place.commands for string in strings(each)}
    assert set(words.FRENCH) <= told
    assert words.SAID["en"].keys() == words.SAID["fr"].keys()


def strings(told):
    yield from (told[name] for name in ("name", "description") if name in told)
    for inner in (*told.get("options", []), *told.get("choices", [])):
        yield from strings(inner)


def test_tables_are_kept_for_their_owner_only(place):
    assert stat.S_IMODE(place.file.stat().st_mode) == 0o600
    table = place.bot.channels.table(CHANNEL)
    assert table.gm.startswith("ember_gm_")
    channels = emberdice.Channels(place.file)
    assert channels.table(CHANNEL) == table
    with pytest.raises(emberdice.NoTable):
        channels.table(1)
    channels.close()


# A recorded interaction, as it came.


async def test_a_roll_as_it_was_recorded(place, line):
    seen = len(place.messages)
    place.bot._connection.parse_interaction_create(recorded("slash"))
    await place.until(lambda: len(place.messages) > seen)
    (message,) = list(place.messages.values())[seen:]
    assert not message["ephemeral"]
    assert message["allowed_mentions"] == {"parse": []}
    assert readers.discord(message["content"]).startswith("Zoé")
    assert "Difficile" in message["content"]  # the table speaks the language of its server
    (rolled,) = line.asked
    assert rolled[0].endswith("/characters/zoe/sixd6/rolls")
    assert rolled[1] == recorded("slash")["id"]
    assert [asked for asked, _ in place.asked[-2:]] == ["callback", "edit"]


async def test_suggestions_as_they_were_recorded(place):
    seen = len(place.suggested)
    place.bot._connection.parse_interaction_create(recorded("autocomplete"))
    await place.until(lambda: len(place.suggested) > seen)
    assert [(each["name"], each["value"]) for each in place.suggested[-1]] == [("Zoé", "zoe")]


SUGGESTED = [
    # command, option, typed, reader, some of what is suggested, how many
    ("roll", "character", "", "en-US", {"Zoé": "zoe", "Max": "max"}, 3),
    ("roll", "character", "ANNE", "fr", {"Anne-Lise": "anne-lise"}, 1),
    ("roll", "qualification", "", "en-US", {"Wetware": "wetware"}, 18),
    ("roll", "qualification", "resil", "fr", {"Résilience": "resilience"}, 1),
    ("roll", "difficulty", "diff", "fr", {"Difficile": "hard"}, 1),
    ("roll", "difficulty", "", "en-US", {"Hard": "hard"}, 6),
    ("draw", "deck", "", "fr", {"Complications légères": "light"}, 2),
    ("draw", "deck", "grave", "en-US", {"Grave complications": "grave"}, 1),
    ("hit", "soak", "serrer", "fr", {"Serrer les dents": "grit"}, 1),
    ("heal", "care", "", "fr", {"Se calmer": "calm_self"}, 3),
    ("roll", "character", "nobody", "fr", {}, 0),
]


@pytest.mark.parametrize(("command", "name", "typed", "locale", "some", "how_many"), SUGGESTED)
async def test_suggestions(place, command, name, typed, locale, some, how_many):
    found = await suggest(place, command, [option(name, typed, focused=True)], locale)
    assert some.items() <= found.items()
    assert len(found) == how_many


# What the channel and who asked get to see.


@pytest.mark.parametrize("visibility", ["gm", "self", "blind"])
async def test_a_secret_roll_is_secret_before_it_is_thrown(place, line, visibility):
    options = [option("character", "zoe"), option("base", 2), option("visibility", visibility)]
    own, public = await use(place, "roll", options, locale="en-US", messages=2)
    promise = next(told for asked, told in reversed(place.asked) if asked == "callback")
    assert (promise["type"], promise["data"]["flags"]) == (5, 64)
    assert own["ephemeral"]
    assert not public["ephemeral"]
    assert readers.discord(public["content"]) in ("A roll was made in secret.", "Un jet a été fait en secret.")
    assert ("Dice" in own["content"]) == (visibility != "blind")


SECRETLY = {"gm": False, "self": False, "blind": True}
"""Whether the card is kept from who drew it, too."""


@pytest.mark.parametrize("visibility", SECRETLY)
@pytest.mark.parametrize("forgets", ["", "public_text"])
async def test_a_card_drawn_in_secret_is_never_posted_for_all(place, line, visibility, forgets):
    line.forgets = forgets
    options = [option("character", "max"), option("deck", "grave"), option("visibility", visibility)]
    own, public = await use(place, "draw", options, locale="en-US", messages=2)
    (_, body) = line.asked[-1], json.loads(line.texts[-1])
    cards = [card["effect"] for card in body.get("cards", [])]
    assert len(cards) == (not SECRETLY[visibility])
    assert own["ephemeral"]
    assert not public["ephemeral"]
    assert public["content"]
    for character in ("max", None):
        (listed,) = await use(place, "cards", [option("character", character)] if character else [])
        assert not listed["ephemeral"]
        assert not any(effect in readers.discord(listed["content"]) for effect in cards)
    await use(place, "undo", [])


def test_a_file_of_tables_from_before_chat_tokens_is_read(tmp_path):
    with closing(sqlite3.connect(tmp_path / "tables.sqlite3", isolation_level=None)) as file:
        file.execute("create table tables (channel integer primary key, session, gm, player)")
        file.execute("insert into tables values (1, 's', 'g', 'p')")
    channels = emberdice.Channels(tmp_path / "tables.sqlite3")
    assert channels.table(1) == emberdice.Table("s", "g", "p", None)
    channels.keep(1, emberdice.Table("s", "g", "p", "c"))
    assert channels.table(1).chat == "c"
    channels.close()


async def test_a_table_from_before_chat_tokens_gets_one(place, line):
    place.bot.channels.keep(CHANNEL, place.bot.channels.table(CHANNEL)._replace(chat=None))
    await use(place, "cards", [])
    assert place.bot.channels.table(CHANNEL).chat.startswith("ember_chat_")
    assert [path.rpartition("/")[2] for path, _ in line.asked] == ["tokens"]


async def test_what_is_sent_again_is_thrown_once(place, line):
    options, number = [option("character", "zoe"), option("base", 6), option("red", 6)], next(NUMBERS)
    (first,) = await use(place, "roll", options, number=number)
    (again,) = await use(place, "roll", options, number=number)
    assert first["content"] == again["content"]
    assert {key for _, key in line.asked} == {str(number)}


@pytest.mark.parametrize("refusals", [[503], [429, 503, 429]])
async def test_a_busy_service_is_asked_again_under_the_same_key(place, line, refusals):
    line.refuses = [*refusals]
    (message,) = await use(place, "draw", [option("character", "max")])
    assert readers.discord(message["content"]).startswith("1 carte tirée pour Max")
    assert len(line.asked) == len(refusals) + 1
    assert len({key for _, key in line.asked}) == 1


async def test_a_lost_answer_costs_no_second_card(place, line):
    line.loses = 2
    (message,) = await use(place, "draw", [option("character", "max")])
    assert len(line.texts) == 3
    assert len(set(line.texts)) == 1
    assert not message["ephemeral"]


async def test_what_found_no_answer_is_the_same_when_it_is_asked_for_again(place, line, monkeypatch):
    monkeypatch.setattr(emberdice, "TRIES", 2)
    line.loses = 2
    options = [option("character", "max"), option("count", 2)]
    (lost,) = await use(place, "draw", options, locale="en-US")
    assert lost["ephemeral"]
    assert "may have been done" in lost["content"]
    await use(place, "draw", options)
    assert len({key for _, key in line.asked}) == 1
    assert len(set(line.texts)) == 1
    await use(place, "draw", options)
    assert len({key for _, key in line.asked}) == 2


def test_a_key_is_kept_for_some_minutes():
    now_s = 0.0
    unsure = emberdice.Unsure(300, lambda: now_s)
    unsure.keep("draw", "1")
    now_s = 299.0
    assert unsure.take("roll") is None
    assert unsure.take("draw") == "1"
    assert unsure.take("draw") is None
    unsure.keep("draw", "1")
    now_s = 600.0
    assert unsure.take("draw") is None


async def test_a_service_that_stays_busy_is_told_of_to_who_asked(place, line):
    line.refuses = [503] * 5
    (message,) = await use(place, "draw", [option("character", "max")])
    assert message["ephemeral"]
    assert readers.discord(message["content"]) == "Busy."
    assert len(line.asked) == 5


async def test_a_refusal_is_shown_to_who_asked_only_and_counts_down(place):
    care = [option("character", "max"), option("care", "treat_damage"), option("base", 3), option("level", 4)]
    (healed,) = await use(place, "heal", care)
    assert not healed["ephemeral"]
    assert re.search(r"\n⏳ Soigner les dégâts <t:\d{10}:R>$", healed["content"])
    (refused,) = await use(place, "heal", care)
    assert refused["ephemeral"]
    assert re.search(r"possible à nouveau dans .*\n⏳ Soigner les dégâts <t:\d{10}:R>$", refused["content"], re.DOTALL)
    (timers,) = await use(place, "timers", [option("character", "max")])
    assert len(re.findall(r"<t:\d{10}:R>", timers["content"])) == 1


async def test_a_name_that_is_not_there_is_refused_in_words(place):
    (message,) = await use(place, "discard", [option("character", "Zoëe")])
    assert message["ephemeral"]
    assert "Zoé" in message["content"]


LIVE = ["<https://x.example>", "<#1>", "<t:0:R>", "<@&5>", "@everyone", "[a](https://x.example)", "# a", "1. a", "</a:1>"]


@pytest.mark.parametrize("name", LIVE)
async def test_a_refusal_holds_nothing_that_discord_reads(place, name):
    (message,) = await use(place, "discard", [option("character", name)])
    assert message["ephemeral"]
    assert name in readers.discord(message["content"])


async def test_a_channel_without_a_table_says_how_to_open_one(place):
    payload = recorded("slash", number=next(NUMBERS), locale="en-US")
    payload["channel_id"] = payload["channel"]["id"] = "1000000000000000099"
    seen = len(place.messages)
    place.bot._connection.parse_interaction_create(payload)
    await place.until(lambda: len(place.messages) > seen)
    message = list(place.messages.values())[-1]
    assert message["ephemeral"]
    assert "/table open" in message["content"]


async def test_words_typed_instead_of_chosen_are_understood(place):
    options = [option("character", "ZOE"), option("base", 3), option("difficulty", "difficile")]
    (message,) = await use(place, "roll", options)
    assert "Difficile" in message["content"]
    (drawn,) = await use(place, "draw", [option("deck", "complications graves"), option("count", 2)])
    assert readers.discord(drawn["content"]).startswith("2 cartes tirées")


async def test_an_evening(place):
    """The other commands, each once."""
    (added,) = await use(place, "table", [{"name": "add", "type": 1, "options": [option("name", "**Bob** <@&1>")]}])
    assert readers.discord(added["content"]).startswith("**Bob** <@&1>")
    assert "<@&" not in added["content"]
    (struck,) = await use(
        place, "hit", [option("character", "zoe"), option("die", "d8"), option("soak", "grit"), option("base", 3)]
    )
    assert readers.discord(struck["content"]).startswith("Zoé")
    (undone,) = await use(place, "undo", [])
    assert "annulé" in undone["content"]
    await use(place, "draw", [option("character", "zoe"), option("count", 8)])
    (active,) = await use(place, "cards", [option("character", "zoe")])
    assert len(active["content"]) <= 2_000
    (gone,) = await use(place, "discard", [option("character", "zoe")])
    assert "défaussée" in gone["content"]
    (rolled,) = await use(place, "action", [option("value", 7), option("burn", 1)])
    assert readers.discord(rolled["content"])


async def test_every_message_calls_nobody_and_fits(place):
    await use(place, "draw", [option("character", "zoe"), option("count", 20), option("deck", "light")])
    (longest,) = await use(place, "cards", [])
    assert longest["content"].endswith("…")
    assert all(message["allowed_mentions"] == {"parse": []} for message in place.messages.values())
    assert all(len(message["content"]) <= 2_000 for message in place.messages.values())


def test_the_bot_speaks_the_languages_of_the_service():
    assert set(words.SAID) == {each.value for each in Lang}
    assert [words.lang_of(locale) for locale in (discord.Locale.french, discord.Locale.german, None)] == ["fr", "en", "en"]


async def test_a_bot_without_the_operators_key_says_so(place, monkeypatch):
    monkeypatch.setattr(place.bot.service, "_api_key", "")
    (refused,) = await use(place, "action", [option("value", 7)])
    assert refused["ephemeral"]
    assert "X-Api-Key" in readers.discord(refused["content"])


class Unknowing(BaseHTTPRequestHandler):
    """A Discord that knows no token."""

    def do_GET(self):
        self.send_response(401)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b'{"message": "401: Unauthorized", "code": 0}')

    def log_message(self, *_):
        pass


@pytest.fixture
def unknowing():
    with ThreadingHTTPServer(("127.0.0.1", 0), Unknowing) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


RUN = "import sys, discord; discord.http.Route.BASE = sys.argv[1]; import bot; bot.main()"


@pytest.mark.parametrize(
    ("token", "address", "said"),
    [
        ("", "", "DISCORD_TOKEN is not set: "),
        ("a-token", "http://127.0.0.1:1", "The bot cannot run: Cannot connect to host 127.0.0.1:1 "),
        ("a-token", "unknowing", "Discord does not know the token in DISCORD_TOKEN: "),
    ],
)
def test_a_bot_that_cannot_begin_says_why_in_one_line(token, address, said, unknowing, tmp_path):
    told = {"DISCORD_TOKEN": token, "EMBERDICE_TABLES": str(tmp_path / "tables")}
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RUN, unknowing if address == "unknowing" else address],
        cwd=ROOT / "deploy" / "integrations" / "discord",
        env={**os.environ, **told},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith(said)
    assert "Traceback" not in ended.stderr
