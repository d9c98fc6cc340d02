"""Message files: what the service says, in each language, apart from the rules that it speaks of."""

import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from babel import Locale
from babel.lists import format_list
from babel.numbers import format_decimal

CONTROL = r"\u0000-\u001f\u007f-\u009f\u061c\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069"
NO_CONTROLS = rf"^[^{CONTROL}]*(?![\s\S])"
"""Neither control characters nor anything that turns the direction of the text around it."""


class Lang(StrEnum):
    EN = "en"
    FR = "fr"


LOCALES = {lang: Locale.parse(lang) for lang in Lang}

Tree = Mapping[str, Any]


class Words:
    """One language's messages. A key that is not there raises KeyError: nothing is said half."""

    def __init__(self, lang: Lang, *trees: Tree) -> None:
        self.lang = lang
        self._messages = dict(_flatten(trees))
        self._plural = cache(LOCALES[lang].plural_form)

    def __call__(self, key: str, /, **data: object) -> str:
        return self._messages[key].format_map(data)

    def __contains__(self, key: str) -> bool:
        return key in self._messages

    def count(self, key: str, n: int, **data: object) -> str:
        """A phrase in the plural form that CLDR gives for n (0 is singular in French)."""
        return self._messages[f"{key}.{self._plural(n)}"].format_map({"n": n, **data})

    def label(self, kind: str, identifier: str) -> str:
        return self._messages[f"label.{kind}.{identifier}"]

    def number(self, value: float) -> str:
        return str(format_decimal(value, locale=LOCALES[self.lang]))

    def listed(self, items: Iterable[str]) -> str:
        """The items as a list in a sentence: a, b, and c."""
        return str(format_list(list(items), locale=LOCALES[self.lang]))

    def either(self, items: Iterable[str]) -> str:
        """The items of which one will do: a, b, or c."""
        return str(format_list(list(items), style="or", locale=LOCALES[self.lang]))

    def keys(self) -> set[str]:
        return set(self._messages)


def _flatten(trees: Iterable[Tree], before: str = "") -> Iterator[tuple[str, str]]:
    for tree in trees:
        for key, value in tree.items():
            if isinstance(value, Mapping):
                yield from _flatten([value], f"{before}{key}.")
            elif isinstance(value, str):
                yield before + key, value


def load(folder: Path) -> dict[Lang, Tree]:
    """The message files of a folder, one a language."""
    return {lang: tomllib.loads((folder / f"{lang}.toml").read_text("utf-8")) for lang in Lang}


def folded(text: str) -> str:
    """The form in which game words are compared: no case, no accents, one kind of apostrophe and of space."""
    plain = unicodedata.normalize("NFKD", text.replace("’", "'").replace("œ", "oe").replace("Œ", "oe"))
    return " ".join("".join(c for c in plain if not unicodedata.combining(c)).casefold().replace("_", " ").split())


class Vocabulary:
    """The words, in every language, that stand for the members of a closed set (ids, labels, other words)."""

    def __init__(self, messages: Mapping[Lang, Tree]) -> None:
        self._words: dict[str, dict[str, str]] = {}
        self._shown: dict[str, dict[str, list[str]]] = {}
        for tree in messages.values():
            for section, labels in tree.get("label", {}).items():
                for identifier, label in labels.items():
                    others = tree.get("word", {}).get(section, {}).get(identifier, ())
                    self._add(section, identifier, (identifier, label, *others))

    def _add(self, section: str, identifier: str, spellings: Iterable[str]) -> None:
        known = self._words.setdefault(section, {})
        shown = self._shown.setdefault(section, {}).setdefault(identifier, [])
        for spelling in spellings:
            if known.setdefault(folded(spelling), identifier) != identifier:
                raise ValueError(f"{spelling!r} stands for two of {section}")
            if spelling not in shown:
                shown.append(spelling)

    def find(self, section: str, text: str) -> str | None:
        return self._words.get(section, {}).get(folded(text))

    def shown(self, section: str) -> dict[str, list[str]]:
        """Every spelling of every member, for the contract."""
        return self._shown.get(section, {})
