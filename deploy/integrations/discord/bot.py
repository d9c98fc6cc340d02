"""Emberdice in Discord: slash commands in English and French, one table a channel. README.md says how to run it."""

import json
import os
import re
import sys
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import aiohttp
import discord
from discord import AllowedMentions, Interaction, app_commands
from discord.app_commands import Choice, Range
from emberdice import AGAIN, Channels, Emberdice, NoTable, Refused, Table, Unreachable, Unsure, plain
from words import SAID, French, lang_of

MOST_CHARACTERS = 1_800
"""Of the 2,000 that Discord takes; timers may follow."""

Name = Range[str, 1, 64]
Dice = Range[int, 0, 6]
Damage = Literal["d2", "d4", "d6", "d8", "d10", "d12"]


MARKS, CALLS = re.compile(r"([\\`*_{}\[\]()#+\-.!|>~<:=&$])"), re.compile(r"@(?=\S)")
"""Whatever Discord reads as more than text: links, mentions and moments (`<…>`) among them."""


def escaped(text: str) -> str:
    """A problem's sentence comes as plain text."""
    return MARKS.sub(r"\\\1", CALLS.sub("@\u200b", text[: MOST_CHARACTERS // 2]))


class Tree(app_commands.CommandTree["Bot"]):
    async def on_error(self, interaction: Interaction["Bot"], error: app_commands.AppCommandError) -> None:
        """Says what went wrong to who asked, and to nobody else."""
        cause = getattr(error, "original", error)
        said = SAID[lang_of(interaction.locale)]
        match cause:
            case Refused():
                text = escaped(str(cause)) + await interaction.client.countdowns(interaction, cause.problem)
                await interaction.client.whisper(interaction, text)
            case NoTable():
                await interaction.client.whisper(interaction, said["no_table"])
            case Unreachable():
                await interaction.client.whisper(interaction, said["unreachable"])
            case _:
                await interaction.client.whisper(interaction, said["failed"])
                await super().on_error(interaction, error)


class Bot(discord.Client):
    service: Emberdice

    def __init__(self, address: str, tables: Path, api_key: str = "") -> None:
        super().__init__(intents=discord.Intents(guilds=True), allowed_mentions=AllowedMentions.none())
        self.address, self.channels, self.unsure = address, Channels(tables), Unsure()
        self.api_key, self.opened = api_key, AsyncExitStack()
        self.tree = Tree(self)
        for command in COMMANDS:
            self.tree.add_command(command)

    async def setup_hook(self) -> None:
        http = await self.opened.enter_async_context(aiohttp.ClientSession())
        self.service = Emberdice(self.address, http, self.api_key)
        await self.tree.set_translator(French())
        await self.tree.sync()

    async def close(self) -> None:
        await super().close()
        await self.opened.aclose()
        self.channels.close()

    async def promise(self, interaction: Interaction["Bot"], visibility: str = "public") -> Table:
        """Discord waits three seconds. Who may see the reply is said with the promise, and cannot be changed after it."""
        await interaction.response.defer(ephemeral=visibility != "public", thinking=True)
        return self.channels.table(interaction.channel_id)

    async def play(
        self, interaction: Interaction["Bot"], line: str, body: dict[str, Any] | None = None, *, by: str | None = None
    ) -> None:
        """Asks the channel's table, and posts what it says where `promise` said.

        What all may read is asked for with a chat token, unless only `by` (gm, player) may do it.
        """
        secret = (body or {}).get("visibility", "public") != "public"
        table = self.channels.table(interaction.channel_id)
        token = getattr(table, by or "player") if by or secret else await self.chat_token(interaction.channel_id)
        answer = await self.once(
            interaction,
            line,
            body,
            token=token,
            include="markdown",
            max=MOST_CHARACTERS,
            lang=lang_of(interaction.locale) if secret else None,  # the table's own, where all may read it
        )
        said = answer["renderings"]["markdown"] + await self.countdowns(interaction, answer)
        await interaction.edit_original_response(content=said)
        if secret:
            await self.tell_of_secret(interaction, answer)

    async def once(
        self, interaction: Interaction["Bot"], line: str, body: dict[str, Any] | None, *, token: str, **query: Any
    ) -> dict[str, Any]:
        """The interaction's id is the key: however often it is sent, the dice are thrown once.

        Where no answer came, the same command of the same user goes under the same key again.
        """
        method, _, path = line.partition(" ")
        session = self.channels.table(interaction.channel_id).session
        asked = json.dumps([session, interaction.user.id, line, body])
        key = None if method == "GET" else self.unsure.take(asked) or str(interaction.id)
        try:
            return await self.service.ask(method, f"/sessions/{session}{path}", body, token=token, key=key, **query)
        except (Refused, Unreachable) as lost:
            if key and (isinstance(lost, Unreachable) or lost.problem.get("status") in AGAIN):
                self.unsure.keep(asked, key)
            raise

    async def chat_token(self, channel: int | None) -> str:
        """Minted where the channel's table has none yet."""
        table = self.channels.table(channel)
        if table.chat:
            return table.chat
        body = {"role": "chat", "label": "discord"}
        minted = await self.service.ask("POST", f"/sessions/{table.session}/tokens", body, token=table.gm)
        self.channels.keep(channel, table._replace(chat=minted["token"]))
        return str(minted["token"])

    async def tell_of_secret(self, interaction: Interaction["Bot"], answer: dict[str, Any]) -> None:
        """To the channel: that something was done, and no more."""
        said = answer.get("public_text") or SAID[lang_of(interaction.guild_locale)]["secret"]
        await interaction.followup.send(escaped(said))

    async def whisper(self, interaction: Interaction["Bot"], text: str) -> None:
        """To who asked only. A promise that all may see is taken back first: the next message would fulfil it."""
        if not interaction.response.is_done():
            await interaction.response.send_message(text, ephemeral=True)
            return
        with suppress(discord.HTTPException):
            await interaction.delete_original_response()
        await interaction.followup.send(text, ephemeral=True)

    async def countdowns(self, interaction: Interaction["Bot"], answer: dict[str, Any]) -> str:
        """When each care may be rolled again, as a moment that every reader's Discord counts down."""
        waits = answer.get("cares") or [answer]
        labels = await self.service.words("cares", lang_of(interaction.locale)) if "care" in waits[0] else {}
        moments = [(labels[each["care"]], each.get("next_roll")) for each in waits if each.get("care") in labels]
        return "".join(
            f"\n⏳ {escaped(label)} <t:{moment['epoch']}:R>"
            for label, moment in moments
            if moment and moment["epoch"] and moment["remaining_seconds"]
        )

    async def who(self, interaction: Interaction["Bot"], typed: str) -> str:
        """The id of a character, by id or by a name however it is typed. Raises Refused with the nearest names."""
        if typed in await self.known_characters(interaction):
            return typed
        table = self.channels.table(interaction.channel_id)
        path, lang = f"/sessions/{table.session}/characters", lang_of(interaction.locale)
        answer = await self.service.ask("GET", path, token=table.player, name=typed, lang=lang)
        identifier: str = answer["characters"][0]["id"]
        return identifier

    async def known_characters(self, interaction: Interaction["Bot"]) -> dict[str, str]:
        table = self.channels.table(interaction.channel_id)
        answer = await self.service.ask("GET", f"/sessions/{table.session}/characters", token=table.player)
        return {each["id"]: each["name"] for each in answer["characters"]}

    async def known_decks(self, interaction: Interaction["Bot"]) -> dict[str, str]:
        """The game's decks by their labels, and the table's own."""
        table = self.channels.table(interaction.channel_id)
        answer = await self.service.ask("GET", f"/sessions/{table.session}/decks", token=table.player)
        labels = await self.service.words("decks", lang_of(interaction.locale))
        return {each["deck"]: labels.get(each["deck"]) or each["name"] for each in answer["decks"]}


# What is suggested while somebody types.

Suggest = Callable[[Interaction[Bot], str], Coroutine[Any, Any, list[Choice[str]]]]


def suggesting(known: Callable[[Interaction[Bot]], Coroutine[Any, Any, dict[str, str]]]) -> Suggest:
    async def suggest(interaction: Interaction[Bot], typed: str) -> list[Choice[str]]:
        try:
            found = await known(interaction)
        except (NoTable, Refused, Unreachable):
            return []
        fitting = [(each, label) for each, label in found.items() if plain(typed) in plain(label)]
        return [Choice(name=label[:100], value=each) for each, label in fitting[:25]]

    return suggest


def words(kind: str) -> Suggest:
    return suggesting(lambda interaction: interaction.client.service.words(kind, lang_of(interaction.locale)))


CHARACTER = suggesting(lambda interaction: interaction.client.known_characters(interaction))
DECK = suggesting(lambda interaction: interaction.client.known_decks(interaction))
VISIBILITY = [
    Choice(name=app_commands.locale_str(name), value=value)
    for name, value in (
        ("everybody", "public"),
        ("the game master and me", "gm"),
        ("the game master only", "blind"),
        ("me only", "self"),
    )
]


# The commands. What is None is not sent.


@app_commands.command(description="Roll a pool of dice")
@app_commands.describe(
    character="Who it is for",
    base="Base dice, where no sheet gives them",
    aptitude="Aptitude of the sheet",
    qualification="Qualification of the sheet",
    red="Red dice",
    difficulty="Difficulty of the roll",
    visibility="Who may see it",
)
@app_commands.choices(visibility=VISIBILITY)
@app_commands.autocomplete(
    character=CHARACTER,
    aptitude=words("aptitudes"),
    qualification=words("qualifications"),
    difficulty=words("difficulties"),
)
async def roll(  # noqa: PLR0913, PLR0917  # an option each
    interaction: Interaction[Bot],
    character: Name,
    base: Dice | None = None,
    aptitude: str | None = None,
    qualification: str | None = None,
    red: Dice = 0,
    difficulty: str | None = None,
    visibility: str = "public",
) -> None:
    bot = interaction.client
    await bot.promise(interaction, visibility)
    body = {
        "base": base,
        "aptitude": await bot.service.meant("aptitudes", aptitude),
        "qualification": await bot.service.meant("qualifications", qualification),
        "red": red,
        "difficulty": await bot.service.meant("difficulties", difficulty),
        "visibility": visibility,
    }
    await bot.play(interaction, f"POST /characters/{await bot.who(interaction, character)}/sixd6/rolls", body)


@app_commands.command(description="Take a hit, soak included")
@app_commands.describe(
    character="Who it is for",
    die="Damage die",
    soak="How the damage is soaked",
    base="Base dice, where no sheet gives them",
    red="Red dice",
    visibility="Who may see it",
)
@app_commands.choices(visibility=VISIBILITY)
@app_commands.autocomplete(character=CHARACTER, soak=words("soaks"))
async def hit(
    interaction: Interaction[Bot],
    character: Name,
    die: Damage,
    soak: str | None = None,
    base: Dice | None = None,
    red: Dice = 0,
    visibility: str = "public",
) -> None:
    bot = interaction.client
    await bot.promise(interaction, visibility)
    kind = await bot.service.meant("soaks", soak)
    soaked = {"kind": kind, "red": red, **({} if base is None else {"base": base})} if kind else None
    body = {"die": die, "soak": soaked, "visibility": visibility}
    await bot.play(interaction, f"POST /characters/{await bot.who(interaction, character)}/sixd6/damage", body)


@app_commands.command(description="Roll to heal, within the two-hour limits")
@app_commands.describe(
    character="Who it is for",
    care="Which care",
    base="Base dice, where no sheet gives them",
    level="Damage or trauma before the roll, where no sheet holds it",
    carer="Who cares, if not the patient",
)
@app_commands.autocomplete(character=CHARACTER, carer=CHARACTER, care=words("cares"))
async def heal(
    interaction: Interaction[Bot],
    character: Name,
    care: str,
    base: Dice | None = None,
    level: Range[int, 0, 20] | None = None,
    carer: Name | None = None,
) -> None:
    bot = interaction.client
    await bot.promise(interaction)
    meant = await bot.service.meant("cares", care)
    body = {
        "care": meant,
        "base": base,
        "damage" if meant == "treat_damage" else "trauma": level,
        "carer": await bot.who(interaction, carer) if carer else None,
    }
    await bot.play(interaction, f"POST /characters/{await bot.who(interaction, character)}/sixd6/healing", body)


@app_commands.command(description="Draw complication cards")
@app_commands.describe(character="Who it is for", deck="Which deck", count="How many cards", visibility="Who may see it")
@app_commands.choices(visibility=VISIBILITY)
@app_commands.autocomplete(character=CHARACTER, deck=DECK)
async def draw(
    interaction: Interaction[Bot],
    character: Name | None = None,
    deck: str = "light",
    count: Range[int, 1, 20] = 1,
    visibility: str = "public",
) -> None:
    bot = interaction.client
    await bot.promise(interaction, visibility)
    decks = await bot.known_decks(interaction)
    meant = next((each for each, name in decks.items() if plain(deck) in (each, plain(name))), deck)
    body = {
        "character": await bot.who(interaction, character) if character else None,
        "count": count,
        "visibility": visibility,
    }
    await bot.play(interaction, f"POST /decks/{quote(meant, safe='')}/draws", body)


@app_commands.command(description="Show the active cards")
@app_commands.describe(character="Who it is for")
@app_commands.autocomplete(character=CHARACTER)
async def cards(interaction: Interaction[Bot], character: Name | None = None) -> None:
    bot = interaction.client
    await bot.promise(interaction)
    whose = f"?character={await bot.who(interaction, character)}" if character else ""
    await bot.play(interaction, f"GET /cards{whose}")


@app_commands.command(description="Discard a character's cards")
@app_commands.describe(character="Who it is for")
@app_commands.autocomplete(character=CHARACTER)
async def discard(interaction: Interaction[Bot], character: Name) -> None:
    bot = interaction.client
    await bot.promise(interaction)
    await bot.play(interaction, "POST /discards", {"character": await bot.who(interaction, character)})


@app_commands.command(description="When can a character be healed again?")
@app_commands.describe(character="Who it is for")
@app_commands.autocomplete(character=CHARACTER)
async def timers(interaction: Interaction[Bot], character: Name) -> None:
    bot = interaction.client
    await bot.promise(interaction)
    await bot.play(interaction, f"GET /characters/{await bot.who(interaction, character)}/sixd6/healing")


@app_commands.command(description="Take back the last event of the table")
@app_commands.default_permissions(manage_messages=True)
async def undo(interaction: Interaction[Bot]) -> None:
    bot = interaction.client
    table = await bot.promise(interaction)
    state = await bot.service.ask("GET", f"/sessions/{table.session}/state", token=table.gm)
    await bot.play(interaction, f"POST /events/{state['last_event']}/undo", by="gm")


@app_commands.command(description="Roll an action of Burn 2d6")
@app_commands.describe(
    value="Full value of the stat",
    dice="Dice that the situation asks for",
    burn="Points to burn, each removes a die",
    visibility="Who may see it",
)
@app_commands.choices(visibility=VISIBILITY)
async def action(
    interaction: Interaction[Bot],
    value: Range[int, 1, 20],
    dice: Range[int, 1, 5] = 2,
    burn: Range[int, 0, 20] = 0,
    visibility: str = "public",
) -> None:
    """Needs no table: a stateless roll, which is thrown again where it is sent again."""
    secret = visibility != "public"
    await interaction.response.defer(ephemeral=secret, thinking=True)
    body = {"value": value, "dice_count": dice, "burn_stat": burn, "visibility": visibility}
    lang = lang_of(interaction.locale if secret else interaction.guild_locale)
    ask = interaction.client.service.ask
    answer = await ask("POST", "/burn2d6/rolls", body, lang=lang, include="markdown", max=MOST_CHARACTERS)
    await interaction.edit_original_response(content=answer["renderings"]["markdown"])
    if secret:
        await interaction.client.tell_of_secret(interaction, answer)


table = app_commands.Group(
    name="table",
    description="The table of this channel",
    default_permissions=discord.Permissions(manage_channels=True),
)


@table.command(name="open", description="Open a table in this channel")
@app_commands.describe(names="Names of the characters, with commas", tier="Points of a healing tier")
async def open_table(
    interaction: Interaction[Bot], names: Range[str, 0, 2_000] = "", tier: Range[int, 1, 20] | None = None
) -> None:
    """The table speaks the language of the server. A repetition opens another one: tokens are shown only once."""
    bot = interaction.client
    await interaction.response.defer(ephemeral=True, thinking=True)
    lang = lang_of(interaction.guild_locale or interaction.locale)
    characters = [name.strip() for name in names.split(",") if name.strip()]
    body = {"lang": lang, "characters": characters, "settings": None if tier is None else {"tier_size": tier}}
    opened = await bot.service.ask("POST", "/sessions", body, lang=lang_of(interaction.locale))
    tokens = opened["tokens"]
    bot.channels.keep(interaction.channel_id, Table(opened["id"], tokens["gm"], tokens["player"]))
    with suppress(Refused, Unreachable):  # asked for again when it is needed
        await bot.chat_token(interaction.channel_id)
    await interaction.edit_original_response(content=SAID[lang_of(interaction.locale)]["opened"])


@table.command(name="add", description="Add a character to the table")
@app_commands.describe(name="Name of the character")
async def add(interaction: Interaction[Bot], name: Name) -> None:
    bot = interaction.client
    await bot.promise(interaction)
    await bot.play(interaction, "POST /characters", {"name": name}, by="player")


Commands = tuple[app_commands.Command[Any, ..., Any] | app_commands.Group, ...]
COMMANDS: Commands = (
    roll,
    hit,
    heal,
    draw,
    cards,
    discard,
    timers,
    undo,
    action,
    table,
)


def main() -> None:
    token = os.environ.get("DISCORD_TOKEN", "")
    if not token:
        sys.exit("DISCORD_TOKEN is not set: it is the bot's token, from https://discord.com/developers/applications.")
    address = os.environ.get("EMBERDICE_URL", "http://localhost:8000")
    tables = Path(os.environ.get("EMBERDICE_TABLES", "tables.sqlite3"))
    try:
        Bot(address, tables, os.environ.get("EMBERDICE_API_KEY", "")).run(token)
    except discord.LoginFailure:
        sys.exit("Discord does not know the token in DISCORD_TOKEN: copy it again, or reset it.")
    except (aiohttp.ClientError, discord.DiscordException, OSError) as error:
        sys.exit(f"The bot cannot run: {error}")


if __name__ == "__main__":
    main()
