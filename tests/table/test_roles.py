"""Who may do what at a table (api.md): every play there is, for every role and binding."""

import importlib
import inspect
import pkgutil

import pytest

import service.table
from service.errors import NotAllowed
from service.systems.burn2d6.action import Stat
from service.systems.burn2d6.build import Rates
from service.systems.burn2d6.damage import BurnableStat
from service.systems.sixd6.damage import Composure, Threat
from service.systems.sixd6.healing import Care
from service.table import (
    burn,
    burn_sheets,
    cards,
    characters,
    decks,
    export,
    healing,
    hits,
    opponents,
    rolls,
    scene,
    session,
    sheets,
    state,
    undo,
)
from service.table.audience import Role
from service.table.records import OwnCard, PendingHit, Token
from service.table.rolls import Cast, PoolAsked
from service.table.turn import Turn
from tests.table.played import CHAT, GM, OBSERVER, OF_ZOE, PLAYER, Table, encode, fallen

ANA = characters.Profile(name="Ana II")
OGRE = opponents.OpponentProfile(name="Ogre", burn_max=9)
NEW_TOKEN = Token(id="new", role=Role.CHAT, created_ms=0)
OWN_DECK = decks.OwnDeck(name="Yours", cards=((OwnCard(card="a", name="A"), 1),))
BURN_SHEET = burn_sheets.BurnSheetProfile(stats={Stat.MOVE: BurnableStat(7, 0)})
CALM = healing.Asked(care=Care.CALM_SELF, base=1)
D6 = hits.Struck(die=Threat.D6)

# What is held by Zoé, and what by Max.
LIGHT = {"zoe": "light-1", "max": "light-2"}
GRAVE = {"zoe": "grave-49", "max": "grave-53"}
WAITS_FOR_SOAK = {"zoe": "h1", "max": "h2"}
WAITS_FOR_CONVERSIONS = {"zoe": "h3", "max": "h4"}


def told(*arguments, **named):
    return arguments, named


def setting():
    """Zoé, Max and Ana at a table where there is something of everything."""
    table = Table("Zoé", "Max", "Ana", tier_size=3)
    table.own("mine", a=3)
    for who, count in (("zoe", 6), ("max", 5)):
        table.play(decks.draw, "light", 1, holder=who)
        table.play(decks.draw, "grave", count, holder=who)
        table.play(sheets.put, who, sheets.Sheet(trauma=5))
        table.play(burn_sheets.put, who, BURN_SHEET)
    table.play(opponents.add, OGRE, "ogre")
    waiting = {WAITS_FOR_SOAK[who]: PendingHit(character=who, die=Threat.D8, faces=(4,)) for who in ("zoe", "max")}
    soaked = Composure(2, max_conversions=0)
    for who, hit in WAITS_FOR_CONVERSIONS.items():
        waiting[hit] = PendingHit(character=who, die=Threat.D8, faces=(4, 5, 6, 1), soak=soaked)
    more = {f"p:{hit}": pending for hit, pending in waiting.items()}
    more |= {f"k:{token.id}": token for token in (PLAYER, CHAT)}
    table.remember({**table.raw, **{field: encode(record) for field, record in more.items()}})
    return table


@pytest.fixture(scope="module")
def raw():
    return setting().raw


# Beside the gm, who may always. "owner": a player who is bound to the character that it is about;
# "bound": also one who is bound to another.
EVERYBODY = "player chat observer owner bound"
PLAYS = [
    # play, what it is told about a character, who may
    (burn.roll, lambda who: told(who, burn.TableAction(stat=Stat.MOVE), fallen(1, 1)), "player chat owner"),
    (burn.strike, lambda who: told(who, {"move": 1}, spend_surge=False), "player chat owner"),
    (burn.spend_surge, told, "player chat owner"),
    (burn.build, lambda who: told(who, Rates(), close=False), "player chat owner"),
    (burn.build, lambda who: told(who, Rates(), close=True), "player owner"),  # edits the sheet
    (burn_sheets.put, lambda who: told(who, BURN_SHEET), "player owner"),
    (burn_sheets.change, lambda who: told(who, burn_sheets.BurnSheetProfileChange()), "player owner"),
    (cards.apply, lambda who: told(GRAVE[who], cards.Wanted()), "player chat owner"),
    (characters.listed, lambda who: told(None), EVERYBODY),
    (characters.one, told, EVERYBODY),
    (characters.add, lambda who: told(ANA, None), "player"),
    (characters.put, lambda who: told(who, ANA), "player owner"),
    (characters.put, lambda who: told("new", ANA), "player"),
    (characters.change, lambda who: told(who, characters.ProfileChange(seat=1)), "player owner"),
    (characters.delete, lambda who: told("ana"), ""),
    (decks.draw, lambda who: told("light", 1, holder=who), "player chat owner"),
    (decks.draw, lambda who: told("light", 1, holder=decks.TABLE), "player chat"),
    (decks.draw, lambda who: told("light", 1, holder=None), "player chat"),
    (decks.discard_cards, lambda who: told((LIGHT[who],)), "player chat owner"),
    (decks.discard_of, told, "player chat owner"),
    (decks.discard_of, lambda who: told(None), ""),
    (decks.return_cards, lambda who: told("light", (LIGHT[who],), decks.ReturnTo.TOP), "player chat owner"),
    (decks.active_cards, told, EVERYBODY),
    (decks.shown_cards, told, EVERYBODY),
    (decks.view, lambda who: told("light"), EVERYBODY),
    (decks.listed, lambda who: told(), EVERYBODY),
    (decks.shuffle, lambda who: told("light", discard=True), ""),
    (decks.peek, lambda who: told("light", 1), ""),
    (decks.put_own, lambda who: told("yours", OWN_DECK), ""),
    (decks.delete_own, lambda who: told("mine"), ""),
    (export.export, lambda who: told(), ""),
    (healing.roll, lambda who: told(who, CALM, fallen(5)), "player chat owner"),
    (healing.status, told, EVERYBODY),
    (healing.set_timer, lambda who: told(who, Care.CALM_SELF, rolled_ago_ms=0, healed=0), ""),
    (healing.clear_timer, lambda who: told(who, Care.CALM_SELF), ""),
    (hits.strike, lambda who: told(who, D6, fallen(4)), "player chat owner"),
    (hits.strike_group, lambda who: told((who,), D6, fallen(4)), "player chat owner"),
    (hits.soak, lambda who: told(who, WAITS_FOR_SOAK[who], None, Cast(), None), "player chat owner"),
    (hits.convert, lambda who: told(who, WAITS_FOR_CONVERSIONS[who], 1, Cast()), "player chat owner"),
    (hits.listed, lambda who: told(), EVERYBODY),
    (opponents.listed, lambda who: told(), EVERYBODY),
    (opponents.one, lambda who: told("ogre"), EVERYBODY),
    (opponents.add, lambda who: told(opponents.OpponentProfile(name="Troll", burn_max=3), None), ""),
    (opponents.change, lambda who: told("ogre", opponents.OpponentProfileChange()), ""),
    (opponents.burn, lambda who: told("ogre", 1), ""),
    (opponents.delete, lambda who: told("ogre"), ""),
    (rolls.roll_sixd6, lambda who: told(who, PoolAsked(base=1), fallen(5)), "player chat owner"),
    (rolls.roll_sixd6, lambda who: told(None, PoolAsked(base=1), fallen(5)), "player chat"),
    (rolls.roll_for_nobody, lambda who: told(PoolAsked(base=1), fallen(5)), "player chat"),
    (rolls.roll_group, lambda who: told((who,), PoolAsked(base=1), fallen(5)), "player chat owner"),
    (scene.end, lambda who: told(), ""),
    (session.change, lambda who: told({}, session.SettingsChange()), ""),
    (session.mint, lambda who: told("secret", NEW_TOKEN), ""),
    (session.tokens, lambda who: told(), ""),
    (session.revoke, lambda who: told("chat"), ""),
    (sheets.facts_of, told, EVERYBODY),
    (burn_sheets.facts_of, told, EVERYBODY),
    (sheets.put, lambda who: told(who, sheets.Sheet()), "player owner"),
    (sheets.change, lambda who: told(who, sheets.SheetChange()), "player owner"),
    (state.clock_facts, lambda who: told(), EVERYBODY),
    (state.state, lambda who: told(), EVERYBODY),
    (undo.undo, lambda who: told(undo.Step("1", "test", {}), (), read_up_to=1), ""),
]

# What plays are made of: they ask nobody who may, their callers have asked.
PARTS = {
    burn_sheets: {"find", "known", "keep"},
    cards: {
        "contaminate", "decompress", "denounce", "pick_puppeteer", "pick_other", "pick_anybody",
        "break_down", "patch", "reverse_role", "degrade_authority",
    },
    characters: {"known", "free_id"},
    decks: {"seen_by", "dealt", "deal", "allow_for_holder", "find", "forget", "texts_of"},
    hits: {"choices"},
    opponents: {"everybody", "known", "find", "take"},
    rolls: {"thrown", "told", "cards_for", "present", "members", "about"},
    sheets: {"find", "known", "keep", "level", "set_level", "suffer", "base"},
}  # fmt: skip


def name(function):
    return f"{function.__module__.rpartition('.')[2]}.{function.__name__}"


def takes_a_turn(function):
    arguments = list(inspect.get_annotations(function, eval_str=True).values())
    return arguments[:1] == [Turn]


def test_every_play_there_is_has_a_row():
    modules = [
        importlib.import_module(f"service.table.{each.name}") for each in pkgutil.iter_modules(service.table.__path__)
    ]
    public = {
        name(function)
        for module in modules
        for attribute, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not attribute.startswith("_") and takes_a_turn(function)
    }
    parts = {f"{module.__name__.rpartition('.')[2]}.{part}" for module, each in PARTS.items() for part in each}
    rows = {name(play) for play, *_ in PLAYS}
    assert not rows & parts
    assert public == rows | parts


def expected(who_may, token, who):
    """None, or the reason of the refusal."""
    roles = who_may.split()
    if token is GM or (token is not OF_ZOE and token.role.value in roles):
        return None
    if token is OF_ZOE and ("bound" in roles or ("owner" in roles and who == "zoe")):
        return None
    return "character" if token is OF_ZOE and "player" in roles else "role"


def refusal(raw, play, told_, token):
    table = Table()
    table.remember(raw)
    try:
        table.play(play, *told_[0], **told_[1], by=token)
    except NotAllowed as refused:
        return refused.reason
    return None


TOKENS = [GM, PLAYER, CHAT, OBSERVER, OF_ZOE]


@pytest.mark.parametrize("who", ["zoe", "max"])
@pytest.mark.parametrize(("play", "tells", "who_may"), PLAYS, ids=[name(play) for play, *_ in PLAYS])
def test_who_may(play, tells, who_may, who, raw):
    answers = {token.id: refusal(raw, play, tells(who), token) for token in TOKENS}
    assert answers == {token.id: expected(who_may, token, who) for token in TOKENS}
