"""What a game declares of itself. The service reads its paths, its contract and its sentences from this."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct

from service.dice import Dice
from service.words import Lang, Tree, Vocabulary, Words, load

Asked = TypeVar("Asked", bound=Struct)
Facts = TypeVar("Facts", bound=Struct)
Say = Callable[[Any, Words], str]


class Flat(Protocol):
    """A request without nesting, for query strings and forms."""

    def unfold(self) -> Any:
        """The request that it stands for. Raises InvalidValue where two of its members contradict each other."""


class Roll(Struct, Generic[Asked, Facts], frozen=True, kw_only=True):
    """A rule that throws dice: POST `path`, and GET `get` for callers that can do no more."""

    path: str
    get: str
    id: str
    summary: str
    about: str
    asked: type[Asked]
    flat: type[Any] | None = None
    facts: type[Facts]
    play: Callable[[Asked, Dice], Facts]
    say: Callable[[Facts, Words], str]
    largest_die: int = 6
    most_faces: int
    refuses: tuple[str, ...] = ()
    example: Mapping[str, object]
    flat_example: Mapping[str, object]
    batch: bool = False


class Question(Struct, Generic[Asked, Facts], frozen=True, kw_only=True):
    """A rule without dice: GET for flat ones, POST where the question is nested."""

    path: str
    method: str = "GET"
    id: str
    summary: str
    about: str
    asked: type[Asked]
    facts: type[Facts]
    answer: Callable[[Asked], Facts]
    say: Callable[[Facts, Words], str]
    refuses: tuple[str, ...] = ()
    example: Mapping[str, object]


class Nothing(Struct, frozen=True):
    """A question that needs no telling."""


class Game(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    folder: Path
    rolls: tuple[Roll[Any, Any], ...]
    questions: tuple[Question[Any, Any], ...]
    reference: type[Struct]
    refer: Callable[[Words], Any]
    vocabulary: Mapping[type[StrEnum], str]
    """Closed sets whose words are understood in query strings and forms, each with its section of the messages."""

    def messages(self) -> dict[Lang, Tree]:
        return load(self.folder / "messages")

    def words(self) -> Vocabulary:
        return Vocabulary(self.messages())
