"""A table from an export: what no step would have written, or nobody could read back, is refused by its record's name."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec.structs import replace

from service.dice import SystemDice, Tape
from service.errors import GameError, InvalidValue, QuotaExceeded
from service.systems.sixd6 import complications
from service.table import brought, burn_sheets, decks, healing, hits, opponents, quotas, state, undo
from service.table.audience import Role
from service.table.export import TableExport
from service.table.names import sought, spelt
from service.table.records import FORMAT, Character, Clock, Counts, Deck, Head, Marks, Token
from service.table.turn import ID, Records, Turn, type_of

Told = dict[str, Any]
"""Records by the names of their fields."""


class NotOfType(Exception):
    """A record, the request's member `field`, that cannot be read as `kind`."""

    def __init__(self, field: str, value: object, kind: object) -> None:
        super().__init__(field)
        self.field, self.value, self.kind = field, value, kind


def imported(told: TableExport, now_ms: int, *, owner: str) -> Told:
    """The records of a new session. What was secret is from now on `owner`'s, the id of a token: those that it was for
    open the old session only. Raises InvalidValue and NotOfType, naming the record at fault."""
    if told.format > FORMAT:
        raise InvalidValue("import.format", "too_high", most=FORMAT)
    records = {field: _record(field, value) for field, value in told.records.items()}
    missing = next((field for field in ALWAYS if field not in records), None)
    if missing:
        raise InvalidValue(_at(missing), "missing")
    for check in CHECKS:
        check(records)
    _check_shown(records, now_ms)
    head: Head = records["head"]
    clock: Clock = records["clock"]
    counts: Counts = records["counts"]
    versions = {name: replace(sheet, version=1) for name, sheet in records.items() if name[:2] in ("s:", "b:")}
    return {
        **records,
        **versions,  # the new session counts its own, from 1
        **{name: _owned(record, owner) for name, record in records.items() if name[:2] in ("d:", "p:")},
        "head": replace(head, created_ms=now_ms),
        "clock": Clock(clock.elapsed_ms, None if clock.since_ms is None else now_ms),
        "counts": replace(counts, keys={}),
    }


def _owned(record: Any, owner: str) -> Any:
    if isinstance(record, Deck):
        return replace(record, hidden={card: replace(secret, roller=owner) for card, secret in record.hidden.items()})
    return replace(record, roller=owner)


ALWAYS = ("head", "clock", "scene", "counts", *(f"d:{each}" for each in complications.Deck))


def _at(field: str) -> str:
    return f"import.records.{field[:70]}"


def _record(field: str, value: Any) -> Any:
    kind = brought.type_of(field)
    if kind is None:
        raise InvalidValue(_at(field), "unknown", known=", ".join(brought.TYPES))
    try:
        asked = msgspec.convert(value, kind, str_keys=True)
        record = msgspec.convert(value, type_of(field), str_keys=True)
    except msgspec.ValidationError:
        raise NotOfType(_at(field), value, kind) from None
    if _repeats(asked, record):
        raise InvalidValue(_at(field), "repeated")
    return record


def _repeats(asked: Any, record: Any) -> bool:
    """Whether something stands twice in what a request reads as a set."""
    sets = ((name, getattr(asked, name)) for name in getattr(asked, "__struct_fields__", ()))
    return any(isinstance(each, frozenset) and len(each) < len(getattr(record, name)) for name, each in sets)


# What no record shows by itself.


def _check_quotas(records: Told) -> None:
    """A table has no more of anything than its steps would have given it."""
    texts = {field: record for field, record in records.items() if field.startswith("t:")}
    with _refused_at("import.records"):
        quotas.refuse_more(Counter(field[:2] for field in records))
        decks.refuse_long(texts.values())
    for field, record in texts.items():
        with _refused_at(_at(field)):
            decks.refuse_repeated(record)


@contextmanager
def _refused_at(place: str) -> Iterator[None]:
    """What a step refuses is refused, there."""
    try:
        yield
    except InvalidValue as wrong:
        raise InvalidValue(place, wrong.problem, **wrong.data) from None
    except QuotaExceeded as full:
        raise InvalidValue(place, f"quota.{full.what}", most=full.most) from None


def _check_decks(records: Told) -> None:
    """Every deck's cards are whole, in one place each, and held by somebody who is there; no two decks share a number."""
    owners = {decks.TABLE, *(field[2:] for field, record in records.items() if isinstance(record, Character))}
    seen: set[int] = set()
    for field, deck in records.items():
        if not isinstance(deck, Deck):
            continue
        cards = {*deck.pile, *deck.discard, *deck.active}
        if not _is_whole(field[2:], deck) or seen & cards or not owners >= {*deck.active.values()}:
            raise InvalidValue(_at(field), "cards_astray")
        if len(records.get(f"t:{field[2:]}", ())) != len(deck.copies):
            raise InvalidValue(_at(f"t:{field[2:]}"), "missing")
        seen |= cards
    if max(seen) >= records["counts"].next_card:
        raise InvalidValue(_at("counts"), "cards_astray")


def _is_whole(identifier: str, deck: Deck) -> bool:
    """Whether its cards are `first` and those after it, each once, and those in secret among the active ones."""
    size = sum(deck.copies) if deck.copies else decks.game_deck_size(identifier)
    cards = sorted((*deck.pile, *deck.discard, *deck.active))
    run = list(range(deck.first, deck.first + size)) if size <= decks.MOST_CARDS else None
    return cards == run and deck.hidden.keys() <= deck.active.keys()


def _check_ids(records: Told) -> None:
    """Everything has an id that can be, and belongs to something that is there."""
    for field, record in records.items():
        if field[:2] in ("c:", "d:", "o:") and not ID.fullmatch(field[2:]):
            raise InvalidValue(_at(field), "bad_id")
        if field.startswith("p:") and not hits.HIT.fullmatch(field[2:]):
            raise InvalidValue(_at(field), "impossible")
        owner = record.character if field.startswith("p:") else field[2:]
        if field[:2] in ("s:", "b:", "p:") and f"c:{owner}" not in records:
            raise InvalidValue(_at(field), "nobody_there")
        if field.startswith("t:") and not records.get(f"d:{field[2:]}", Deck(first=0)).copies:
            raise InvalidValue(_at(field), "unknown", known=", ".join(brought.TYPES))


def _check_names(records: Told) -> None:
    """Names are kept as a step would have kept them, and each finds one character or opponent."""
    named: set[tuple[str, str]] = set()
    for field, record in records.items():
        if field[:2] not in ("c:", "o:"):
            continue
        found = (field[:2], sought(record.name))
        if spelt(_at(field), record.name) != record.name or found in named:
            raise InvalidValue(_at(field), "taken")
        named.add(found)


def _check_marks(records: Told) -> None:
    """Marks are those of active grave cards, on characters who are there."""
    marks: Marks = records["scene"]
    marked = {*marks.suspects, *marks.chosen.values(), *((marks.authority,) if marks.authority else ())}
    if not {f"c:{who}" for who in marked} <= records.keys():
        raise InvalidValue(_at("scene"), "nobody_there")
    if not undo.marks_are_founded(marks, records["d:grave"]):
        raise InvalidValue(_at("scene"), "impossible")


def _check_rules(records: Told) -> None:
    """The members of a record go together as the rules have them, and nobody was healed at a time still to come."""
    clock: Clock = records["clock"]
    possible: dict[str, Callable[[Any], bool]] = {
        "b:": burn_sheets.is_possible,
        "c:": lambda character: not healing.is_ahead(character, clock.elapsed_ms),
        "o:": opponents.is_possible,
        "p:": hits.is_possible,
    }
    for field, record in records.items():
        if field[:2] in possible and not possible[field[:2]](record):
            raise InvalidValue(_at(field), "impossible")


CHECKS = (_check_quotas, _check_decks, _check_ids, _check_names, _check_marks, _check_rules)


def _check_shown(records: Told, now_ms: int) -> None:
    """What the table would show is within the bounds that the contract gives."""
    raw: dict[str, bytes | None] = {field: msgspec.json.encode(record) for field, record in records.items()}
    token = Token(id="import", role=Role.GM, created_ms=now_ms)
    turn = Turn(Records(raw, whole=True), now_ms=now_ms, version=1, token=token, dice=Tape(SystemDice()))
    try:
        shown = state.state(turn)
        msgspec.convert(msgspec.to_builtins(shown, str_keys=True), state.TableState, str_keys=True)
    except (msgspec.ValidationError, GameError, ArithmeticError, OSError, ValueError, TypeError, LookupError) as error:
        raise InvalidValue("import.records", "impossible_table", message=str(error)[:200]) from None
