"""Names: shown as first spelt, found however they are typed."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from service.errors import InvalidValue, NotThere
from service.words import CONTROL, folded

MOST_CHARACTERS = 64
MOST_MARKS = 4
"""Combining marks on one base character; more of them spill over the lines around."""

INVISIBLE = ("Cf", "Mn", "Me", "Zs")
"""Categories of what cannot be seen without a letter beside it."""
BLANK = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters and signs that are drawn as nothing: fillers of Hangul, the empty Braille pattern."""

APOSTROPHES = str.maketrans(dict.fromkeys("’ʼ‘`´′", "'"))
NOT_ALLOWED = re.compile(f"[{CONTROL}]")


def spelt(field: str, name: str) -> str:
    """The name as it is kept: composed, without space around. Raises InvalidValue, naming `field`."""
    kept = unicodedata.normalize("NFC", name).strip()
    if all(unicodedata.category(each) in INVISIBLE or each in BLANK for each in kept):
        raise InvalidValue(field, "empty_name")
    if len(kept) > MOST_CHARACTERS:
        raise InvalidValue(field, "text_too_long", n=MOST_CHARACTERS)
    if NOT_ALLOWED.search(kept):
        raise InvalidValue(field, "pattern")
    if _marks(kept) > MOST_MARKS:
        raise InvalidValue(field, "too_many_marks", most=MOST_MARKS)
    return kept


def _marks(name: str) -> int:
    """The longest run of marks that take no room, on the decomposed name; joiners and vowel signs end no run."""
    run = longest = 0
    for character in unicodedata.normalize("NFD", name):
        category = unicodedata.category(character)
        run = run + 1 if category in ("Mn", "Me") else run if category in ("Mc", "Cf") else 0
        longest = max(longest, run)
    return longest


def sought(name: str) -> str:
    """The form in which names are compared: no case, composition, width, space around or shape of apostrophe."""
    same = unicodedata.normalize("NFC", name).translate(APOSTROPHES)
    caseless = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", same).casefold())
    return " ".join(caseless.translate(APOSTROPHES).split())


def typed(name: str) -> str:
    """As it comes out of a chat: without accents, hyphens, apostrophes, quotes, the @ before it or a stop behind it."""
    return " ".join(re.split(r"\W+", folded(name))).strip() or name


def slug(name: str) -> str:
    """Lower-case ASCII without accents, for an id; empty where nothing of the name can be said so."""
    plain = folded(name).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:MOST_CHARACTERS].strip("-")


def numbered(wanted: str, number: int) -> str:
    """The id with a number behind it, cut so that it stays an id."""
    return f"{wanted[: min(58, MOST_CHARACTERS - 1 - len(str(number)))]}-{number}"


MOST_NEAREST = 3


def nearest(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Those that differ in few letters; case and accents do not count."""
    spelt_so: dict[str, list[str]] = {}
    for each in known:
        spelt_so.setdefault(folded(each), []).append(each)
    close = get_close_matches(folded(name), spelt_so, n=MOST_NEAREST)
    return tuple(each for form in close for each in spelt_so[form])[:MOST_NEAREST]


def no_id(kind: str, given: str, there: Mapping[str, Iterable[str]], field: str | None = None) -> NotThere:
    """The refusal of what is the id of nothing `there`: ids, each with the names that stand for it."""
    shown = given[:MOST_CHARACTERS]
    spellings = {identifier: (identifier, *names) for identifier, names in there.items()}
    form = folded(given)
    meant = [identifier for identifier, names in spellings.items() if form in map(folded, names)]
    if len(meant) == 1:
        return NotThere(kind, shown, meant=meant[0], field=field)
    stands_for = {name: identifier for identifier, names in spellings.items() for name in names}
    near = dict.fromkeys(stands_for[name] for name in nearest(given, stands_for))
    return NotThere(kind, shown, tuple(near), field=field)
