"""The Discord bot: recorded interactions go through discord.py's own parsing; what it answers is caught at its HTTP edge."""

import re
import stat
import sys
import warnings
from itertools import count

import aiohttp
import pytest
from aiohttp import web

from service.words import Lang
from tests.consumers.discord.edge import Discord, option, recorded
from tests.live import END_S, ROOT
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

NUMBERS = count(1_200_000_000_000_000_001)
CHANNEL = 1000000000000000004


class BadLine:
    """Between the bot and the service: refuses, or loses answers, as often as it is told, and keeps what was asked."""

    def __init__(self, address):
        self._address = address
        self.refuses, self.loses, self.asked, self.texts = [], 0, [], []

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
            if self.loses:
                self.loses -= 1
                request.transport.close()
        kept = {
            n: v for n, v in answer.headers.items() if n.lower() in ("content-type", "retry-after", "idempotency-replayed")
        }
        return web.Response(body=said, status=answer.status, headers=kept)


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
        place.bot = bot_module.Bot(line.address, place.file)
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
    line.refuses, line.loses, line.asked, line.texts = [], 0, [], []


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
    assert public["content"] in ("A roll was made in secret.", "Un jet a été fait en secret.")
    assert ("Dice" in own["content"]) == (visibility != "blind")


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


async def test_a_service_that_stays_busy_is_told_of_to_who_asked(place, line):
    line.refuses = [503] * 5
    (message,) = await use(place, "draw", [option("character", "max")])
    assert message["ephemeral"]
    assert message["content"] == "Busy."
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
