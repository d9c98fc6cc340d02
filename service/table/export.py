"""A whole table as one document; imports.py makes a table of it. Tokens stay behind: they open one session only."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from service.table.records import FORMAT, Clock
from service.table.turn import Turn

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
