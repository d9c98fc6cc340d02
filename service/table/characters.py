"""Who sits at the table: ids and names, presence, kind."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from service.errors import InUse, InvalidValue, NotAllowed, NotThere, QuotaExceeded
from service.table.audience import Role
from service.table.names import nearest, numbered, slug, sought, spelt, typed
from service.table.records import Character, CharacterKind, Counts, Marks, Token
from service.table.turn import ID, Turn
from service.words import folded

MOST_CHARACTERS = 100

Identifier = Annotated[str, Meta(pattern=r"^[a-z0-9-]{1,64}(?![\s\S])", description="Given, or made from the name.")]
GivenName = Annotated[str, Meta(min_length=1, max_length=400, description="Any Unicode, 64 characters at most.")]
Person = Annotated[str, Meta(min_length=1, max_length=64)]
Seat = Annotated[int, Meta(ge=1, le=100)]
MetaValues = Annotated[
    dict[Annotated[str, Meta(min_length=1, max_length=64)], Annotated[str, Meta(max_length=200)]],
    Meta(max_length=20, title="MetaValues", description="The caller's own values, e.g. ids elsewhere."),
]


class CharacterFacts(Struct, frozen=True, kw_only=True):
    id: Identifier
    name: Annotated[str, Meta(max_length=64)]
    kind: CharacterKind
    present: bool
    seat: Seat | None
    player: Person | None
    meta: MetaValues
    created: bool = False
    event: str | None = None


class CharacterList(Struct, frozen=True, kw_only=True):
    characters: tuple[CharacterFacts, ...]


class Profile(Struct, frozen=True, kw_only=True):
    """All that can be said of a character apart from its sheets; what is left out gets its default."""

    name: GivenName
    kind: CharacterKind = CharacterKind.PC
    present: bool = True
    seat: Seat | None = None
    player: Person | None = None
    meta: MetaValues = {}


class ProfileChange(Struct, frozen=True, kw_only=True):
    """A merge patch: what is absent stays, null resets."""

    name: GivenName | UnsetType = UNSET
    kind: CharacterKind | UnsetType | None = UNSET
    present: bool | UnsetType | None = UNSET
    seat: Seat | UnsetType | None = UNSET
    player: Person | UnsetType | None = UNSET
    meta: MetaValues | UnsetType | None = UNSET


def facts_of(identifier: str, character: Character, *, created: bool = False, event: str | None = None) -> CharacterFacts:
    return CharacterFacts(
        id=identifier,
        name=character.name,
        kind=character.kind,
        present=character.present,
        seat=character.seat,
        player=character.player,
        meta=character.meta,
        created=created,
        event=event,
    )


def find(characters: Mapping[str, Character], name: str, field: str = "character") -> str:
    """Id of the character with that id or name. Raises NotThere, naming `field`, with the nearest names."""
    if name in characters:
        return name
    forms = (sought, folded, typed)
    found = next((found for form in forms if (found := _found(name, characters, form))), None)
    if found is None:
        near = nearest(name, (character.name for character in characters.values()))
        raise NotThere("character", name[:64], near, field=field)
    return found


def _found(name: str, characters: Mapping[str, Character], form: Callable[[str], str]) -> str | None:
    """The only one whose name has the same form."""
    same = [each for each, character in characters.items() if form(character.name) == form(name)]
    return same[0] if len(same) == 1 else None


def listed(turn: Turn, name: str | None) -> CharacterList:
    everybody = turn.characters()
    chosen = everybody if name is None else {(one := find(everybody, name, "name")): everybody[one]}
    return CharacterList(characters=tuple(facts_of(each, character) for each, character in chosen.items()))


def one(turn: Turn, identifier: str) -> CharacterFacts:
    return facts_of(identifier, known(turn, identifier))


def known(turn: Turn, identifier: str, field: str | None = None) -> Character:
    """Raises NotThere, naming `field`, with the nearest ids."""
    return turn.character(identifier, field)


def add(turn: Turn, profile: Profile, identifier: str | None) -> CharacterFacts:
    """A new character. Raises InvalidValue where the id or the name is taken, QuotaExceeded."""
    _allow_to_create(turn)
    everybody = turn.characters()
    if identifier in everybody:
        raise InvalidValue("id", "taken")
    chosen = identifier or free_id(turn, profile.name, everybody)
    return _put(turn, chosen, profile, everybody)


def put(turn: Turn, identifier: str, profile: Profile) -> CharacterFacts:
    """Create or replace; a replaced one keeps its sheets, timers and cards. Raises InvalidValue for an id that cannot be."""
    if not ID.fullmatch(identifier):
        raise InvalidValue("character", "bad_id")
    everybody = turn.characters()
    if identifier in everybody:
        turn.allow(Role.PLAYER)
        turn.allow_for(identifier)
    else:
        _allow_to_create(turn)
    return _put(turn, identifier, profile, everybody)


def _allow_to_create(turn: Turn) -> None:
    turn.allow(Role.PLAYER)
    if turn.token.characters is not None:
        raise NotAllowed("character")


def _put(turn: Turn, identifier: str, profile: Profile, everybody: Mapping[str, Character]) -> CharacterFacts:
    before = everybody.get(identifier)
    if before is None and len(everybody) >= MOST_CHARACTERS:
        raise QuotaExceeded("characters", MOST_CHARACTERS)
    base = before or Character(name="")
    told = {name: getattr(profile, name) for name in profile.__struct_fields__}
    after = replace(base, **{**told, "name": free_name(identifier, profile.name, everybody)})
    return _keep(turn, identifier, after, created=before is None)


def change(turn: Turn, identifier: str, told: ProfileChange) -> CharacterFacts:
    turn.allow(Role.PLAYER)
    turn.allow_for(identifier)
    before = known(turn, identifier)
    defaults = Character(name="")
    given = {each: getattr(told, each) for each in told.__struct_fields__ if getattr(told, each) is not UNSET}
    members: dict[str, Any] = {each: getattr(defaults, each) if value is None else value for each, value in given.items()}
    if "name" in members:
        members["name"] = free_name(identifier, members["name"], turn.characters())
    return _keep(turn, identifier, replace(before, **members), created=False)


def _keep(turn: Turn, identifier: str, character: Character, *, created: bool) -> CharacterFacts:
    if not created and character == turn.character(identifier):
        return facts_of(identifier, character)  # nothing was to be changed
    turn.put(f"c:{identifier}", character)
    facts = facts_of(identifier, character, created=created, event=turn.next_event)
    turn.tell("character.put", facts, character=identifier)
    return facts


def delete(turn: Turn, identifier: str) -> CharacterFacts:
    """Raises InUse while the character has active cards."""
    turn.allow()
    character = known(turn, identifier)
    active = sum(holder == identifier for deck in turn.decks().values() for holder in deck.active.values())
    if active:
        raise InUse("character", identifier, active)
    turn.put(f"c:{identifier}", None)
    for sheet in (f"s:{identifier}", f"b:{identifier}"):
        if turn.get(sheet) is not None:
            turn.put(sheet, None)
    for hit in turn.fields("p:"):
        if turn.get(hit).character == identifier:
            turn.put(hit, None)
    for name in turn.fields("k:"):
        token: Token = turn.get(name)
        if identifier in (token.characters or ()):
            bound = tuple(each for each in token.characters or () if each != identifier)
            turn.put(name, replace(token, characters=bound))
    marks: Marks = turn.get("scene")
    if (after := _without(marks, identifier)) != marks:
        turn.put("scene", after)
    facts = facts_of(identifier, character, event=turn.next_event)
    turn.tell("character.deleted", facts, character=identifier)
    return facts


def _without(marks: Marks, gone: str) -> Marks:
    """Nobody who comes later under the same id is a suspect for it."""
    return replace(
        marks,
        suspects=tuple(each for each in marks.suspects if each != gone),
        authority=None if marks.authority == gone else marks.authority,
        chosen={card: who for card, who in marks.chosen.items() if who != gone},
    )


def free_name(identifier: str, name: str, everybody: Mapping[str, Character]) -> str:
    """The name as it is kept. Raises InvalidValue where another character would be found by it."""
    kept = spelt("name", name)
    others = (character.name for each, character in everybody.items() if each != identifier)
    if sought(kept) in {sought(other) for other in others}:
        raise InvalidValue("name", "taken")
    return kept


def free_id(turn: Turn, name: str, everybody: Mapping[str, Character]) -> str:
    """From the name, where it can be said in ASCII, and never one that another character has."""
    wanted = slug(spelt("name", name)) or "character"
    if wanted not in everybody and wanted != "character":
        return wanted
    counts: Counts = turn.get("counts")
    number = counts.next_character
    while numbered(wanted, number) in everybody:
        number += 1
    turn.put("counts", replace(counts, next_character=number + 1))
    return numbered(wanted, number)
