"""A whole evening with the Python SDK over a bad line, blocking; what came of each step is printed.

`evening.mts` is its twin and prints the same; `evening_async.py` plays a shorter one.
"""

import sys
from itertools import islice, takewhile

from emberdice_client import Emberdice, LogExpired, Patience, Refused, Table, Unreachable
from emberdice_client.models import (
    Aptitudes,
    CardsDrawnEvent,
    DeckExhaustedProblem,
    DeckShuffledEvent,
    DiscardRequest,
    DrawRequest,
    HealingCooldownProblem,
    HealingRequest,
    OpenRequest,
    Qualifications,
    RedactedAnswer,
    SheetPatch,
    SheetRequest,
    ShuffleRequest,
    SoakRequest,
    TableHitRequest,
    TablePoolRoll,
    TableRollRequest,
    TableRulesRequest,
    TableWound,
    TokenRequest,
)


def play(table: Table) -> None:
    zoe = table.seat(table.opened.tokens.player)
    skills = Aptitudes.from_dict({"control": 3}), Qualifications.from_dict({"wetware": 2, "resilience": 1})
    zoe.put_sheet("zoe", body=SheetRequest(aptitudes=skills[0], qualifications=skills[1], protections=["heavy"]))

    roll = zoe.roll_for_character("zoe", body=TableRollRequest(base=4, red=1, difficulty="normal", faces=[6, 5, 3, 2, 1, 4]))
    assert isinstance(roll, TablePoolRoll)
    print("roll", roll.outcome, roll.successes, len(roll.drawn))

    blind = zoe.roll_for_character("zoe", body=TableRollRequest(base=1, visibility="blind"))
    assert isinstance(blind, RedactedAnswer)
    print("blind", blind.visibility, blind.text == blind.public_text)

    hit = zoe.take_hit("zoe", body=TableHitRequest(die="d8", faces=[5], wait="soak"))
    assert isinstance(hit, TableWound)
    assert hit.hit is not None
    print("hit", hit.state, hit.damage)
    wound = zoe.soak_hit("zoe", hit.hit, body=SoakRequest(kind="composure", faces=[6, 1, 2, 3, 4]))
    assert isinstance(wound, TableWound)
    print("wound", wound.damage_level, wound.trauma_level)

    print("healed", zoe.heal("zoe", body=HealingRequest(care="treat_damage", base=3, faces=[5, 5, 2])).text)
    try:
        zoe.heal("zoe", body=HealingRequest(care="treat_damage", base=3))
    except Refused as refused:
        problem = refused.problem
        assert isinstance(problem, HealingCooldownProblem)
        print(problem.code, problem.care, 7100 < problem.next_roll.remaining_seconds <= 7200)

    exhaust(zoe)
    table.discard_cards(body=DiscardRequest(all_=True))
    print("shuffled", table.shuffle_deck("light", body=ShuffleRequest(discard=True)).draw_pile)


def exhaust(zoe: Table) -> None:
    """Draws ten cards at a time until there are not enough."""
    for _ in range(5):
        try:
            drawn = zoe.draw_cards("light", body=DrawRequest(count=10, character="zoe"))
        except Refused as refused:
            problem = refused.problem
            assert isinstance(problem, DeckExhaustedProblem)
            print(problem.code, problem.wanted, problem.left)
        else:
            print(drawn.text.partition(":")[0])


def listen(table: Table) -> None:
    heard = table.events(after="0")
    told = list(takewhile(lambda event: not isinstance(event, DeckShuffledEvent), heard))
    print("heard", *(event.type_ for event in told))
    print("cards", *(len(event.data.cards) for event in told if isinstance(event, CardsDrawnEvent) and event.data))
    try:
        next(table.events(after="expired"))
    except LogExpired as expired:
        print(expired)


def come_back(service: Emberdice, session: str, token: str, player: str) -> None:
    """To a table that is open. Two have read the same sheet: only one may change it."""
    with service.table(session, token) as table:
        seen = table.read_sheet("zoe").version
        for attempt in range(2):
            try:
                table.mint_token(body=TokenRequest(role="chat"))
            except Unreachable:
                print("lost", attempt)
        for damage in (4, 5):
            try:
                print("changed", table.change_sheet("zoe", body=SheetPatch(damage=damage), if_match=seen).damage)
            except Refused as refused:
                print(refused.code, refused.status)
        remember(table, table.seat(player))


def remember(table: Table, zoe: Table) -> None:
    """A page of the log is empty where only the game master may see what happened."""
    for told in ([*table.history(limit=5)], [*zoe.history(limit=1)]):
        print("history", len(told), *(event.type_ for event in told[-3:]))
    newest = next(table.history(order="desc"))
    print("newest", newest.type_, *(event.type_ for event in islice(table.history(newest.id, order="desc"), 3)))
    print("after", *table.history(newest.id))


def wait(service: Emberdice) -> None:
    """Out a second, but not an hour. A table is not opened again: its tokens would be unknown."""
    print("systems", *(system.id for system in service.systems(include=["markdown", "html"]).systems))
    try:
        service.health_ready()
    except Refused as refused:
        print(refused.code, refused.retry_after_s == 3600)
    try:
        service.open_session(lang="fr", body=OpenRequest())
    except Unreachable:
        print("lost")


with Emberdice(sys.argv[1], patience=Patience(first_wait_s=0.01)) as emberdice:
    at = emberdice.open_table(OpenRequest(characters=["Zoé", "Max"], settings=TableRulesRequest(tier_size=3)))
    play(at)
    listen(at)
    come_back(emberdice, at.id, at.opened.tokens.gm, at.opened.tokens.player)
    wait(emberdice)
