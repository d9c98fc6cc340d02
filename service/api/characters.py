"""Characters of a table: who sits there, apart from their sheets."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct

from service.api.answers import joined
from service.api.tables import Command, Keyed
from service.table import characters
from service.table.characters import CharacterFacts, CharacterList, GivenName, Identifier, Profile, ProfileChange
from service.table.turn import EVERYTHING, ID, Turn
from service.words import Words

CharacterRequest = joined(
    "CharacterRequest",
    Profile,
    Keyed,
    strict=True,
    about="A character; `id` is made from the name where none is given.",
    more=(("id", Identifier | None, None),),
)
CharacterProfile = joined("CharacterProfile", Profile, Keyed, strict=True, about=Profile.__doc__)
CharacterChange = joined("CharacterChange", ProfileChange, Keyed, strict=True, about=ProfileChange.__doc__)


class CharacterQuery(Struct, frozen=True, kw_only=True):
    name: Annotated[GivenName, Meta(description="Only the one found by this name, however it is typed.")] | None = None


def _everything(path: Mapping[str, str], asked: Any) -> tuple[str, ...]:
    return (EVERYTHING,)


def _one(path: Mapping[str, str], asked: Any) -> tuple[str, ...]:
    return (f"c:{path['character']}",) if ID.fullmatch(path["character"]) else ()


def _profile(asked: Any) -> Profile:
    return Profile(**{name: getattr(asked, name) for name in Profile.__struct_fields__})


def _change(turn: Turn, path: Mapping[str, str], asked: Any) -> CharacterFacts:
    told = {name: getattr(asked, name) for name in ProfileChange.__struct_fields__ if getattr(asked, name) is not UNSET}
    return characters.change(turn, path["character"], ProfileChange(**told))


def _put(turn: Turn, path: Mapping[str, str], asked: Any) -> CharacterFacts:
    return characters.put(turn, path["character"], _profile(asked))


def _say(key: str) -> Any:
    def say(facts: CharacterFacts, words: Words) -> str:
        return words(key, name=facts.name)

    return say


def say_put(facts: CharacterFacts, words: Words) -> str:
    if facts.event is None:
        return words("table.unchanged")
    return words("table.character_added" if facts.created else "table.character_put", name=facts.name)


COMMANDS = (
    Command(
        id="addCharacter",
        gives={"character": "id"},
        method="POST",
        path="/characters",
        summary="Add a character",
        about="Any Unicode name; its id is given, or made from the name in lower-case ASCII.",
        body=CharacterRequest,
        facts=CharacterFacts,
        play=lambda turn, path, asked: characters.add(turn, _profile(asked), asked.id),
        say=say_put,
        wants=_everything,
        status=201,
        created_path=lambda path, facts: f"/v1/sessions/{path['session']}/characters/{facts.id}",
        example={"name": "Ana"},
    ),
    Command(
        id="listCharacters",
        method="GET",
        path="/characters",
        summary="List the characters",
        about="All, or the one that a name finds: case, accents' composition, width and apostrophes do not matter.",
        query=CharacterQuery,
        facts=CharacterList,
        play=lambda turn, path, asked: characters.listed(turn, asked.name),
        say=lambda facts, words: words(
            "table.characters", names=words.listed(each.name for each in facts.characters) or "—"
        ),
        wants=_everything,
        refuses=("not-found",),
        changes=False,
    ),
    Command(
        id="readCharacter",
        method="GET",
        path="/characters/{character:str}",
        summary="Read a character",
        about="Apart from its sheets.",
        facts=CharacterFacts,
        play=lambda turn, path, asked: characters.one(turn, path["character"]),
        say=_say("table.character"),
        wants=_one,
        refuses=("not-found",),
        changes=False,
    ),
    Command(
        id="putCharacter",
        method="PUT",
        path="/characters/{character:str}",
        summary="Create or replace a character",
        about="201 where it is new. One that is replaced keeps its sheets, timers and cards.",
        body=CharacterProfile,
        facts=CharacterFacts,
        play=_put,
        say=say_put,
        wants=_everything,
        creates=lambda facts: facts.created,
        created_path=lambda path, facts: f"/v1/sessions/{path['session']}/characters/{facts.id}",
        example={"name": "Zoé", "present": True, "seat": 1},
    ),
    Command(
        id="changeCharacter",
        method="PATCH",
        path="/characters/{character:str}",
        summary="Change a character",
        about="A merge patch: what is absent stays, null resets.",
        body=CharacterChange,
        facts=CharacterFacts,
        play=_change,
        say=say_put,
        wants=_one,
        refuses=("not-found",),
        example={"present": False},
    ),
    Command(
        id="deleteCharacter",
        method="DELETE",
        path="/characters/{character:str}",
        summary="Delete a character",
        about="Refused while it has active cards.",
        facts=CharacterFacts,
        play=lambda turn, path, asked: characters.delete(turn, path["character"]),
        say=_say("table.character_deleted"),
        wants=_everything,
        refuses=("not-found", "character-in-use"),
    ),
)
