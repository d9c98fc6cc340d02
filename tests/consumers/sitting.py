"""A table that somebody plays at from outside, over HTTP, while a browser looks on."""

from typing import Any, Self

import httpx


class Sitting:
    """An open session, its tokens and the game master's voice."""

    def __init__(self, address: str, *, api_key: str = "", **wanted: Any) -> None:
        headers = {"X-Api-Key": api_key} if api_key else {}
        self.client = httpx.Client(base_url=address, timeout=30, headers=headers)
        opened = self._answer(self.client.post("/v1/sessions", json=wanted))
        self.address, self.id, self.tokens = address, opened["id"], dict(opened["tokens"])
        self.observer = self.mint("observer")["token"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def mint(self, role: str) -> Any:
        return self.ask("POST /tokens", role=role)

    def ask(self, line: str, *, by: str = "gm", lang: str | None = None, **body: Any) -> Any:
        """`line` is a method and a path below the session; `by` names a token of the table (or is one)."""
        method, _, path = line.partition(" ")
        return self._answer(
            self.client.request(
                method,
                f"/v1/sessions/{self.id}{path}",
                json=None if method in ("GET", "DELETE") else body,
                params={"lang": lang} if lang else None,
                headers={"Authorization": f"Bearer {self.tokens.get(by, by)}"},
            )
        )

    def page(self, token: str | None = None, **told: str) -> str:
        """The address of the table's page."""
        fragment = httpx.QueryParams({"table": self.id, "token": token or self.observer, **told})
        return f"{self.address}/table#{fragment}"

    @staticmethod
    def _answer(answer: httpx.Response) -> Any:
        assert answer.is_success, answer.text
        return answer.json()


def evening(address: str, **wanted: Any) -> Sitting:
    """A Friday in the middle of play: four characters, eight cards, timers, a secret roll, something taken back."""
    table = Sitting(address, **{"name": "Les Docks", "characters": ["Zoé", "Max", "Ying", "Le Fixeur"], **wanted})
    table.ask("PATCH ", settings={"tier_size": 3})
    table.ask("PATCH /characters/le-fixeur", kind="npc", present=False)
    table.ask(
        "PUT /characters/zoe/sixd6", aptitudes={"control": 3}, qualifications={"wetware": 2}, protections=["heavy"], trauma=4
    )
    table.ask("PUT /characters/ying/sixd6", aptitudes={"control": 2}, protections=["light", "heavy"], damage=5)
    stats = {
        "move": {"value": 7, "burned": 7},
        "soul": {"value": 4, "burned": 1},
        "eyes": {"value": 8},
        "heart": {"value": 6},
    }
    table.ask("PUT /characters/max/burn2d6", stats=stats, slots=[{"name": "Jetpack", "value": 3, "burned": 1}])
    table.ask("POST /opponents", name="Le Colosse", burn_max=9)
    table.ask("POST /characters/zoe/sixd6/healing", care="calm_self", base=3, faces=[5, 5, 2])
    table.ask("POST /clock", action="advance", seconds=2_500)
    table.ask("POST /characters/ying/sixd6/healing", care="treat_damage", carer="zoe", base=3, faces=[5, 2, 2])
    for deck, count, holder in (("light", 3, "zoe"), ("light", 2, "ying"), ("light", 1, "max"), ("grave", 1, "ying")):
        table.ask(f"POST /decks/{deck}/draws", count=count, character=holder)
    table.ask("POST /decks/grave/draws", table=True)
    advanced = table.ask("POST /clock", action="advance", seconds=600)["event"]
    table.ask(f"POST /events/{advanced}/undo")
    table.ask("POST /characters/zoe/sixd6/rolls", base=4, visibility="gm")
    table.ask("POST /characters/zoe/sixd6/rolls", base=4, red=1, difficulty="normal", faces=[6, 5, 3, 2, 2, 3])
    table.ask("POST /characters/ying/sixd6/damage", die="d8", faces=[5], wait="soak")
    return table
