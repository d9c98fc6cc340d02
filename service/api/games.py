"""What can be asked of a game without a table: its rolls, its questions, its reference. Nothing is remembered."""

from collections.abc import Callable
from typing import Annotated, Any

from litestar.handlers import HTTPRouteHandler
from msgspec import UNSET, Meta, Struct, defstruct

from service.api.answers import Answer, Flatly, Rolled, Rolling, answering, asking, joined, labelled, with_facts
from service.api.decoding import Spoken
from service.api.operation import Call, Operation, route
from service.api.presentation import NOTHING_SPOKEN
from service.api.problems import refusal_of
from service.dice import Dice, FacesSource, GivenFaces
from service.errors import GameError
from service.systems.game import Game, Nothing, Question, Roll
from service.table.audience import Visibility
from service.words import Lang, Words

MOST_IN_A_BATCH = 20


class System(Struct, frozen=True, kw_only=True):
    id: Annotated[str, Meta(max_length=20)]
    name: Annotated[str, Meta(max_length=64)]
    reference: Annotated[str, Meta(max_length=2_000, description="Path of its reference.")]


class SystemList(Answer, frozen=True, kw_only=True):
    systems: Annotated[list[System], Meta(max_length=20)]


class Table:
    """One game as the service offers it: its declaration, its words, its dice."""

    def __init__(self, game: Game, words: dict[Lang, Words], dice: Dice) -> None:
        self.game, self.words, self.dice = game, words, dice
        self.spoken = Spoken(game.words(), game.vocabulary)

    def routes(self) -> list[HTTPRouteHandler]:
        rolls = [handler for roll in self.game.rolls for handler in self._roll_routes(roll)]
        return [*rolls, *(self._question_route(each) for each in self.game.questions), self._reference_route()]

    def _operation(self, path: str, **told: Any) -> Operation:
        return Operation(path=f"/v1/{self.game.id}/{path}", tag=self.game.id, words=self.words, spoken=self.spoken, **told)

    def _roll_routes(self, roll: Roll[Any, Any]) -> list[HTTPRouteHandler]:
        bounds = {"largest_die": roll.largest_die, "most_faces": roll.most_faces}
        name = roll.asked.__name__
        body = asking(f"{name}Request", roll.asked, Rolling, **bounds)
        query = asking(f"{name}Query", roll.flat or roll.asked, Flatly, **bounds)
        form = asking(f"{name}Form", roll.flat or roll.asked, Rolling, **bounds)
        answer = answering(roll.facts, Rolled)
        told = {"about": roll.about, "refuses": ("faces-mismatch", *roll.refuses), "fresh": True, "answer": answer}

        async def play(call: Call, asked: Any) -> Any:
            return self._rolled(call, roll, answer, asked)

        posted = self._operation(
            roll.path,
            id=roll.id,
            method="POST",
            summary=roll.summary,
            body=body,
            form=form,
            example=roll.example,
            form_example=roll.flat_example if roll.flat else roll.example,
            **told,
        )
        summary = f"{roll.summary}, by GET"
        got = self._operation(
            roll.get,
            id=f"{roll.id}ByGet",
            method="GET",
            summary=summary,
            query=query,
            example=roll.flat_example,
            **told,
        )
        batch = [self._batch_route(roll, body, told)] if roll.batch else []
        return [route(posted, play), route(got, play), *batch]

    def _rolled(self, call: Call, roll: Roll[Any, Any], answer: type[Any], asked: Any) -> Any:
        facts, source = played(roll.play, unfolded(roll, asked), asked, self.dice)
        visibility = getattr(asked, "visibility", Visibility.PUBLIC)
        return with_facts(
            answer,
            facts,
            text=call.said(labelled(roll.say(facts, call.words), asked.label, call.words)),
            lang=call.words.lang,
            system=self.game.id,
            source=source,
            label=asked.label,
            visibility=visibility,
            public_text=UNSET if visibility is Visibility.PUBLIC else call.said(call.words("say.secret")),
        )

    def _batch_route(self, roll: Roll[Any, Any], body: type[Any], told: dict[str, Any]) -> HTTPRouteHandler:
        one: Any = told["answer"]
        asked_type = _list_of(f"{one.__name__}BatchRequest", "rolls", body)
        answer = joined(f"{one.__name__}Batch", Answer, _list_of("Results", "results", one), strict=False)

        async def play(call: Call, asked: Any) -> Any:
            rolled = [self._in_batch(call, roll, one, each, at) for at, each in enumerate(asked.rolls)]
            said = (
                call.words("say.batch", n=n, sentence=each.text if each.public_text is UNSET else each.public_text)
                for n, each in enumerate(rolled, 1)
            )
            return answer(results=rolled, text=call.said(" ".join(said)), lang=call.words.lang)

        operation = self._operation(
            f"{roll.path}/batch",
            id=f"{roll.id}Batch",
            method="POST",
            summary=f"{roll.summary}, up to {MOST_IN_A_BATCH} times",
            body=asked_type,
            example={"rolls": [roll.example, roll.example]},
            **{**told, "answer": answer},
        )
        return route(operation, play)

    def _in_batch(self, call: Call, roll: Roll[Any, Any], answer: type[Any], asked: Any, at: int) -> Any:
        try:
            return self._rolled(call, roll, answer, asked)
        except GameError as error:
            raise refusal_of(error, f"{call.place}.rolls[{at}]") from error

    def _question_route(self, question: Question[Any, Any]) -> HTTPRouteHandler:
        answer = answering(question.facts, Answer)
        name = f"{question.id[0].upper()}{question.id[1:]}Request"
        place = "query" if question.method == "GET" else "body"
        asked_as = (
            {}
            if question.asked is Nothing
            else {place: joined(name, question.asked, strict=True, about=question.asked.__doc__)}
        )

        async def play(call: Call, asked: Any) -> Any:
            facts = question.answer(_own(question.asked, asked))
            return with_facts(answer, facts, text=call.said(question.say(facts, call.words)), lang=call.words.lang)

        operation = self._operation(
            question.path,
            id=question.id,
            method=question.method,
            summary=question.summary,
            about=question.about,
            answer=answer,
            refuses=question.refuses,
            example=question.example,
            **asked_as,
        )
        return route(operation, play)

    def _reference_route(self) -> HTTPRouteHandler:
        answer = answering(self.game.reference, Answer)
        said = {lang: self.game.refer(words) for lang, words in self.words.items()}

        async def play(call: Call, asked: None) -> Any:
            facts = said[call.words.lang]
            counts = {name: len(getattr(facts, name)) for name in facts.__struct_fields__}
            text = call.said(call.words("say.reference", **counts))
            return with_facts(answer, facts, text=text, lang=call.words.lang)

        operation = self._operation(
            "reference",
            id=f"{self.game.id}Reference",
            method="GET",
            summary=f"Everything that {self.game.name} names",
            about="Ids and labels in the book's order, and the rulings.",
            answer=answer,
            tagged=True,
        )
        return route(operation, play)


def systems_route(tables: list[Table], words: dict[Lang, Words], prefix: str) -> HTTPRouteHandler:
    listed = [
        System(id=each.game.id, name=each.game.name, reference=f"{prefix}/v1/{each.game.id}/reference") for each in tables
    ]

    async def play(call: Call, asked: None) -> SystemList:
        text = call.words("say.systems", games=call.words.listed(each.name for each in listed))
        return SystemList(systems=listed, text=call.said(text), lang=call.words.lang)

    operation = Operation(
        id="systems",
        method="GET",
        path="/v1/systems",
        tag="Service",
        summary="Games played here",
        about="Their ids stand in every path.",
        answer=SystemList,
        words=words,
        spoken=NOTHING_SPOKEN,
        tagged=True,
    )
    return route(operation, play)


def unfolded(roll: Roll[Any, Any], asked: Any) -> Any:
    """The rule's own request, also where a flat one stands for it."""
    if roll.flat and set(roll.flat.__struct_fields__) <= set(asked.__struct_fields__):
        return _own(roll.flat, asked).unfold()
    return _own(roll.asked, asked)


def _own(kind: type[Any], asked: Any) -> Any:
    return kind(**{name: getattr(asked, name) for name in kind.__struct_fields__})


def _list_of(name: str, member: str, item: type[Any]) -> type[Any]:
    bounds = Meta(min_length=1, max_length=MOST_IN_A_BATCH)
    items = Annotated[list[item], bounds]  # type: ignore[valid-type]  # a type made above
    return defstruct(name, [(member, items)], frozen=True, forbid_unknown_fields=True)


def played(play: Callable[[Any, Dice], Any], asked: Any, given: Flatly, dice: Dice) -> tuple[Any, FacesSource]:
    """The facts, and where their faces came from. Raises FacesMismatch when given faces do not fit."""
    if given.faces is None:
        return play(asked, dice), FacesSource.SERVICE
    faces = GivenFaces(given.faces, dice if given.roll_rest else None)
    facts = play(asked, faces)
    return facts, faces.finish()
