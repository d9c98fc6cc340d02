"""A whole table as one document, and a table from such a document. Tokens stay behind: they open one session only."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from service.dice import SystemDice, Tape
from service.errors import GameError, InvalidValue
from service.systems.sixd6 import complications
from service.table import decks, opponents, state
from service.table.audience import Role
from service.table.clock import elapsed_ms
from service.table.names import sought, spelt
from service.table.records import FORMAT, Character, Clock, Counts, Deck, Head, Marks, Token
from service.table.turn import ID, TYPES, Records, Turn, is_record, type_of

MOST_FIELDS = 1_000


class TableExport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`records` are the service's own: keep them as they are."""

    format: Annotated[int, Meta(ge=1, le=1_000, description="Version of the records.")]
    exported_ms: Annotated[int, Meta(ge=0, le=253_402_300_799_999, description="When, in ms since 1970.")]
    records: Annotated[dict[str, Any], Meta(max_length=MOST_FIELDS)]


def export(turn: Turn) -> TableExport:
    turn.allow()
    texts = [f"t:{name[2:]}" for name in turn.fields("d:") if turn.get(name).name is not None]
    fields = [name for name in turn.fields("") if not name.startswith("k:")]
    clock: Clock = turn.clock
    records = {name: turn.get(name) for name in sorted((*fields, *texts))}
    records["clock"] = replace(
        clock, elapsed_ms=turn.elapsed_ms, since_ms=turn.now_ms if clock.since_ms is not None else None
    )
    return TableExport(format=FORMAT, exported_ms=turn.now_ms, records=msgspec.to_builtins(records, str_keys=True))


def imported(told: TableExport, now_ms: int) -> dict[str, Any]:
    """The records of a new session. Raises InvalidValue, naming the record at fault."""
    if told.format > FORMAT:
        raise InvalidValue("import.format", "too_high", most=FORMAT)
    records = {field: _record(field, value) for field, value in told.records.items()}
    for field in ("head", "clock", "scene", "counts"):
        if field not in records:
            raise InvalidValue(f"import.records.{field}", "missing")
    _check_decks(records)
    _check_owners(records)
    _check_names(records)
    _check_shown(records, now_ms)
    head: Head = records["head"]
    clock: Clock = records["clock"]
    running = clock.since_ms is not None
    elapsed = elapsed_ms(replace(clock, since_ms=None), now_ms)
    counts: Counts = records["counts"]
    versions = {name: replace(sheet, version=1) for name, sheet in records.items() if name[:2] in ("s:", "b:")}
    return {
        **records,
        **versions,  # the new session counts its own, from 1
        "head": replace(head, created_ms=now_ms),
        "clock": Clock(elapsed, now_ms if running else None),
        "counts": replace(counts, keys={}),
    }


def _record(field: str, value: Any) -> Any:
    if field.startswith("k:") or not is_record(field):
        raise InvalidValue(f"import.records.{field[:70]}", "unknown", known=", ".join(TYPES))
    try:
        return msgspec.convert(value, type_of(field), str_keys=True)
    except msgspec.ValidationError as error:
        raise InvalidValue(f"import.records.{field[:70]}", "other", message=str(error)) from None


def _is_run(cards: list[int], first: int) -> bool:
    """Whether the numbers are `first` and those after it, each once."""
    return sorted(cards) == list(range(first, first + len(cards)))


def _check_owners(records: dict[str, Any]) -> None:
    """Sheets and hits are somebody's who is there, under an id that can be."""
    for field, record in records.items():
        owner = record.character if field.startswith("p:") else field[2:]
        if field[:2] in ("s:", "b:", "p:") and f"c:{owner}" not in records:
            raise InvalidValue(f"import.records.{field[:70]}", "nobody_there")
        if field.startswith("o:") and not opponents.is_possible(record):
            raise InvalidValue(f"import.records.{field[:70]}", "impossible_table", message="burns")
        if field[:2] in ("c:", "d:", "o:") and not ID.fullmatch(field[2:]):
            raise InvalidValue(f"import.records.{field[:70]}", "bad_id")
        if field.startswith("t:") and not records.get(f"d:{field[2:]}", Deck(first=0)).copies:
            raise InvalidValue(f"import.records.{field[:70]}", "unknown", known=", ".join(TYPES))
    marks: Marks = records["scene"]
    marked = {*marks.suspects, *marks.chosen.values(), *((marks.authority,) if marks.authority else ())}
    if not {f"c:{who}" for who in marked} <= records.keys():
        raise InvalidValue("import.records.scene", "nobody_there")


def _check_names(records: dict[str, Any]) -> None:
    """Names are kept as a step would have kept them, and each finds one character or opponent."""
    named: set[tuple[str, str]] = set()
    for field, record in records.items():
        if field[:2] not in ("c:", "o:"):
            continue
        at, found = f"import.records.{field}", (field[:2], sought(record.name))
        if spelt(at, record.name) != record.name or found in named:
            raise InvalidValue(at, "taken")
        named.add(found)


def _check_shown(records: dict[str, Any], now_ms: int) -> None:
    """What the table would show is within the bounds that the contract gives."""
    raw: dict[str, bytes | None] = {field: msgspec.json.encode(record) for field, record in records.items()}
    token = Token(id="import", role=Role.GM, created_ms=now_ms)
    turn = Turn(Records(raw, whole=True), now_ms=now_ms, version=1, token=token, dice=Tape(SystemDice()))
    try:
        shown = state.state(turn)
        msgspec.convert(msgspec.to_builtins(shown, str_keys=True), state.TableState, str_keys=True)
    except (msgspec.ValidationError, GameError, ArithmeticError, OSError, ValueError, TypeError, LookupError) as error:
        raise InvalidValue("import.records", "impossible_table", message=str(error)[:200]) from None


def _check_decks(records: dict[str, Any]) -> None:
    """Every deck's cards are whole, in one place each, and held by somebody who is there; no two decks share a number."""
    characters = {name[2:] for name, record in records.items() if isinstance(record, Character)}
    missing = next((f"d:{each}" for each in complications.Deck if f"d:{each}" not in records), None)
    if missing:
        raise InvalidValue(f"import.records.{missing}", "missing")
    seen: set[int] = set()
    for name, deck in records.items():
        if not isinstance(deck, Deck):
            continue
        cards = [*deck.pile, *deck.discard, *deck.active]
        expected = sum(deck.copies) if deck.copies else decks.game_deck_size(name[2:])
        whole = len(cards) == expected <= decks.MOST_CARDS and _is_run(cards, deck.first)
        texts = records.get(f"t:{name[2:]}", ())
        if not whole or seen & set(cards) or not set(deck.active.values()) <= {*characters, decks.TABLE}:
            raise InvalidValue(f"import.records.{name}", "cards_astray")
        if bool(deck.copies) and len(texts) != len(deck.copies):
            raise InvalidValue(f"import.records.t:{name[2:]}", "missing")
        seen |= set(cards)
    if max(seen) >= records["counts"].next_card:
        raise InvalidValue("import.records.counts", "cards_astray")
