"""Links: which operations can follow an answer, and what of it they take. Whole games can be walked along them."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from service.api.operation import Operation

MEMBERS = re.compile(r"\{(\w+):\w+\}")
Link = dict[str, Any]


def links(source: Operation, operations: Sequence[Operation]) -> Iterator[tuple[str, Link]]:
    """By a name for each: what uses a member that the answer names, and what lies at or below what a PUT made."""
    own = MEMBERS.findall(source.path)
    told = {name: f"$request.path.{name}" for name in own}
    told |= {place: f"$response.body#/{member}" for place, member in source.gives.items()}
    made = own[-1:] if source.method == "PUT" else []
    for target in operations:
        asked = MEMBERS.findall(target.path)
        by = [name for name in (*source.gives, *made) if name in asked]
        if target is source or not by or not _can_follow(source, target, asked, told):
            continue
        link = {"operationId": target.id, "parameters": {f"path.{name}": told[name] for name in asked if name in told}}
        way = "By" if by[0] in source.gives else "At"
        yield f"{target.id}{way}{by[0].capitalize()}", link


def _can_follow(source: Operation, target: Operation, asked: list[str], told: dict[str, str]) -> bool:
    """A PUT may bring the last member of its path itself."""
    missing = [name for name in asked if name not in told]
    below = source.method != "PUT" or target.path.startswith(source.path) or bool(set(source.gives) & set(asked))
    return below and (not missing or (target.method == "PUT" and missing == asked[-1:]))
