"""B4: opponents at a table. They never roll: they add dice to the actions against them, and hold so many burns."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType, ValidationError, convert, to_builtins
from msgspec.structs import replace

from service.errors import InvalidValue, NotThere, QuotaExceeded
from service.systems.burn2d6.action import ActionDifficulty
from service.systems.burn2d6.opponents import (
    BurnMax,
    OpponentBurns,
    OpponentHit,
    OpponentWound,
    burn_opponent,
)
from service.table.characters import GivenName, Identifier
from service.table.names import nearest, no_id, numbered, slug, sought, spelt
from service.table.records import Opponent
from service.table.turn import ID, Turn

MOST_OPPONENTS = 100


class OpponentFacts(Struct, frozen=True, kw_only=True):
    id: Identifier
    name: Annotated[str, Meta(max_length=64)]
    burn_max: BurnMax
    action_difficulty: ActionDifficulty
    burns: OpponentBurns
    defeated: Annotated[bool, Meta(description="It has as many burns as it holds (B4).")]
    event: str | None = None


class OpponentList(Struct, frozen=True, kw_only=True):
    opponents: Annotated[tuple[OpponentFacts, ...], Meta(max_length=MOST_OPPONENTS)]


class OpponentBurnedFacts(OpponentWound, frozen=True, kw_only=True):
    """points = burns taken + overflow."""

    id: Identifier
    name: Annotated[str, Meta(max_length=64)]
    action_difficulty: ActionDifficulty
    event: str | None = None


class OpponentProfile(Struct, frozen=True, kw_only=True):
    """An opponent as it enters the scene."""

    name: GivenName
    burn_max: BurnMax
    action_difficulty: ActionDifficulty = 0
    burns: OpponentBurns = 0


class OpponentProfileChange(Struct, frozen=True, kw_only=True):
    """A merge patch: what is absent stays, null resets."""

    name: GivenName | UnsetType = UNSET
    burn_max: BurnMax | UnsetType = UNSET
    action_difficulty: ActionDifficulty | UnsetType | None = UNSET
    burns: OpponentBurns | UnsetType | None = UNSET


def facts_of(identifier: str, opponent: Opponent, event: str | None = None) -> OpponentFacts:
    return OpponentFacts(
        id=identifier,
        name=opponent.name,
        burn_max=opponent.burn_max,
        action_difficulty=opponent.action_difficulty,
        burns=opponent.burns,
        defeated=opponent.burns >= opponent.burn_max,
        event=event,
    )


def is_possible(opponent: Opponent) -> bool:
    """Whether a record from elsewhere is one that a step could have written."""
    try:
        profile = convert(to_builtins(opponent), OpponentProfile)
        return spelt("name", profile.name) == opponent.name and profile.burns <= profile.burn_max
    except (InvalidValue, ValidationError):
        return False


def everybody(turn: Turn) -> dict[str, Opponent]:
    return {field[2:]: turn.get(field) for field in sorted(turn.fields("o:"))}


def listed(turn: Turn) -> OpponentList:
    return OpponentList(opponents=tuple(facts_of(each, opponent) for each, opponent in everybody(turn).items()))


def known(turn: Turn, identifier: str) -> Opponent:
    """Raises NotThere, with the nearest ids."""
    opponent: Opponent | None = turn.get(f"o:{identifier}") if ID.fullmatch(identifier) else None
    if opponent is None:
        raise no_id("opponent", identifier, {each: (there.name,) for each, there in everybody(turn).items()})
    return opponent


def find(turn: Turn, name: str) -> str:
    """Id of the opponent with that id or name. Raises NotThere, with the nearest names."""
    if ID.fullmatch(name) and turn.get(f"o:{name}") is not None:
        return name
    wanted = sought(name)
    found = next((each for each, opponent in everybody(turn).items() if sought(opponent.name) == wanted), None)
    if found is None:
        raise NotThere("opponent", name[:64], nearest(name, (each.name for each in everybody(turn).values())))
    return found


def one(turn: Turn, identifier: str) -> OpponentFacts:
    return facts_of(identifier, known(turn, identifier))


def add(turn: Turn, profile: OpponentProfile, identifier: str | None) -> OpponentFacts:
    """Raises InvalidValue where the id or the name is taken, QuotaExceeded."""
    turn.allow()
    there = everybody(turn)
    if identifier in there:
        raise InvalidValue("id", "opponent_taken")
    if len(there) >= MOST_OPPONENTS:
        raise QuotaExceeded("opponents", MOST_OPPONENTS)
    name = _free_name(profile.name, there.values())
    told = {each: getattr(profile, each) for each in profile.__struct_fields__}
    return _keep(turn, identifier or _free_id(name, there), Opponent(**{**told, "name": name}))


def change(turn: Turn, identifier: str, told: OpponentProfileChange) -> OpponentFacts:
    turn.allow()
    before = known(turn, identifier)
    given = {each: getattr(told, each) for each in told.__struct_fields__ if getattr(told, each) is not UNSET}
    members: dict[str, Any] = {each: 0 if value is None else value for each, value in given.items()}
    if "name" in members:
        others = (opponent for each, opponent in everybody(turn).items() if each != identifier)
        members["name"] = _free_name(members["name"], others)
    return _keep(turn, identifier, replace(before, **members))


def delete(turn: Turn, identifier: str) -> OpponentFacts:
    turn.allow()
    facts = facts_of(identifier, known(turn, identifier), turn.next_event)
    turn.put(f"o:{identifier}", None)
    turn.tell("opponent.deleted", facts)
    return facts


def burn(turn: Turn, identifier: str, points: int) -> OpponentBurnedFacts:
    """The gm's: burns that no roll brings."""
    turn.allow()
    facts = take(turn, identifier, points, turn.next_event)
    turn.tell("opponent.burned", facts)
    return facts


def take(turn: Turn, identifier: str, points: int, event: str | None = None) -> OpponentBurnedFacts:
    """The opponent takes the burns, whoever asks; the step that they belong to tells of them."""
    opponent = known(turn, identifier)
    wound = burn_opponent(OpponentHit(burn_max=opponent.burn_max, burns=opponent.burns, points=points))
    if points:
        turn.put(f"o:{identifier}", replace(opponent, burns=wound.burns))
    return OpponentBurnedFacts(
        **{name: getattr(wound, name) for name in wound.__struct_fields__},
        id=identifier,
        name=opponent.name,
        action_difficulty=opponent.action_difficulty,
        event=event,
    )


def _keep(turn: Turn, identifier: str, opponent: Opponent) -> OpponentFacts:
    if opponent.burns > opponent.burn_max:
        raise InvalidValue("burns", "burned_beyond_value", burned=opponent.burns, value=opponent.burn_max)
    turn.put(f"o:{identifier}", opponent)
    facts = facts_of(identifier, opponent, turn.next_event)
    turn.tell("opponent.put", facts)
    return facts


def _free_name(name: str, others: Iterable[Opponent]) -> str:
    kept = spelt("name", name)
    if sought(kept) in {sought(other.name) for other in others}:
        raise InvalidValue("name", "opponent_taken")
    return kept


def _free_id(name: str, there: Mapping[str, Opponent]) -> str:
    """From the name, where it can be said in ASCII, with the first number that makes it one that nobody has."""
    wanted = slug(name) or "opponent"
    others = (numbered(wanted, number) for number in range(2, MOST_OPPONENTS + 2))
    return next(each for each in (wanted, *others) if each not in there)
