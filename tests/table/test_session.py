"""Opening and changing a session, and the tokens that open it."""

import hashlib

import pytest
from msgspec.structs import replace

from service.errors import InvalidValue, NotAllowed, NotThere, QuotaExceeded
from service.systems.sixd6.healing import RollLimit
from service.table import session
from service.table.audience import Role
from service.table.records import Clock, Counts, Head, Marks, ProvidedFaces, Reshuffle, TableSettings, Token
from service.table.session import SettingsChange, opened
from service.words import Lang
from tests.table.played import GM, Table, Unshuffled


def test_a_session_starts_with_its_decks_its_clock_and_who_sits_there():
    head = Head(name="Vendredi", created_ms=7)
    first = opened(head, ("Zoé", "🎲"), running=True, chance=Unshuffled())
    assert first.keys() == {"head", "clock", "scene", "counts", "d:light", "d:grave", "c:zoe", "c:character-1"}
    assert (first["head"], first["clock"], first["scene"]) == (head, Clock(0, since_ms=7), Marks())
    assert first["counts"] == Counts(next_card=62, next_character=2)
    assert opened(head, (), running=False, chance=Unshuffled())["clock"] == Clock(0)


# A merge patch: what is absent stays, null resets.
WAS = TableSettings(
    tier_size=3, reshuffle=Reshuffle.NEVER, roll_limit=RollLimit.PER_PATIENT, provided_faces=ProvidedFaces.GM
)
SETTINGS = [
    # told, settings then
    (SettingsChange(), WAS),
    (SettingsChange(tier_size=20), replace(WAS, tier_size=20)),
    (SettingsChange(tier_size=None), replace(WAS, tier_size=None)),
    (SettingsChange(reshuffle=None), replace(WAS, reshuffle=Reshuffle.WHEN_EMPTY)),
    (SettingsChange(roll_limit=None), replace(WAS, roll_limit=RollLimit.PER_CARE)),
    (SettingsChange(provided_faces=None), replace(WAS, provided_faces=ProvidedFaces.EVERYONE)),
    (SettingsChange(tier_size=1, reshuffle=None), replace(WAS, tier_size=1, reshuffle=Reshuffle.WHEN_EMPTY)),
    (None, TableSettings()),
]


@pytest.mark.parametrize(("told", "then"), SETTINGS)
def test_settings_are_changed_one_by_one(told, then):
    table = Table(tier_size=3, reshuffle="never", roll_limit="per_patient", provided_faces="gm")
    before = table.get("head")
    facts = table.play(session.change, {}, told)
    assert facts.settings == table.get("head").settings == then
    assert (facts.name, facts.lang, facts.created_ms) == (before.name, before.lang, before.created_ms)
    if then == WAS:  # nothing was to be changed, and nothing is told
        assert (table.events, facts.event) == ([], None)
    else:
        assert (table.events[-1].type, table.events[-1].data) == ("session.changed", facts)


NAMES = [
    # told, name and language then
    ({}, ("Vendredi", Lang.FR)),
    ({"name": "Samedi"}, ("Samedi", Lang.FR)),
    ({"lang": Lang.EN}, ("Vendredi", Lang.EN)),
    ({"name": None, "lang": None}, (None, Lang.EN)),
]


@pytest.mark.parametrize(("told", "then"), NAMES)
def test_name_and_language_are_changed(told, then):
    table = Table(tier_size=3)
    table.play(session.change, {"name": "Vendredi"}, SettingsChange())
    facts = table.play(session.change, told, SettingsChange())
    assert (facts.name, facts.lang, facts.settings.tier_size) == (*then, 3)


# Tokens.


def mint(table, role, identifier="new", characters=None, **more):
    told = Token(id=identifier, role=role, label="bot", characters=characters, created_ms=5)
    return table.play(session.mint, f"secret of {identifier}", told, **more)


def ids(table):
    return [each.id for each in table.play(session.tokens).tokens]


def test_a_token_is_kept_under_the_digest_of_its_secret():
    table = Table()
    facts = mint(table, Role.CHAT, characters=("zoe",))
    assert (facts.id, facts.role, facts.label, facts.characters, facts.created_ms) == ("new", "chat", "bot", ("zoe",), 5)
    digest = hashlib.sha256(b"secret of new").hexdigest()
    assert table.get(f"k:{digest}") == Token(id="new", role=Role.CHAT, label="bot", characters=("zoe",), created_ms=5)
    assert b"secret" not in b"".join(table.raw.values())
    assert (table.events[-1].type, table.events[-1].data) == ("token.created", facts)
    assert table.play(session.tokens).tokens[1] == session.token_facts(table.get(f"k:{digest}"))


BOUND = [
    # role, characters, what is wrong
    (Role.PLAYER, ("zoe", "max"), None),
    (Role.CHAT, ("zoe",), None),
    (Role.PLAYER, None, None),
    (Role.OBSERVER, None, None),
    (Role.GM, None, None),
    (Role.GM, ("zoe",), InvalidValue),
    (Role.OBSERVER, ("zoe",), InvalidValue),
    (Role.PLAYER, ("zoe", "ana"), NotThere),
]


@pytest.mark.parametrize(("role", "characters", "error"), BOUND)
def test_players_and_chats_may_be_bound_to_characters_that_are_there(role, characters, error):
    table = Table()
    if error is None:
        assert mint(table, role, characters=characters).characters == characters
    else:
        with pytest.raises(error):
            mint(table, role, characters=characters)
        assert ids(table) == ["gm"]


def test_a_table_has_fifty_tokens_at_most():
    table = Table()
    for number in range(49):
        mint(table, Role.PLAYER, f"p{number}")
    with pytest.raises(QuotaExceeded) as refusal:
        mint(table, Role.PLAYER)
    assert (refusal.value.what, refusal.value.most) == ("tokens", 50)
    table.play(session.revoke, "p7")
    mint(table, Role.PLAYER)


def test_a_revoked_token_is_gone():
    table = Table()
    mint(table, Role.PLAYER, "a")
    mint(table, Role.PLAYER, "b")
    facts = table.play(session.revoke, "a")
    assert (facts.id, ids(table)) == ("a", ["gm", "b"])
    assert (table.events[-1].type, table.events[-1].data) == ("token.deleted", facts)
    with pytest.raises(NotThere) as refusal:
        table.play(session.revoke, "a")
    assert (refusal.value.kind, refusal.value.nearest) == ("token", ())


def test_the_last_gm_token_stays():
    table = Table()
    with pytest.raises(NotAllowed) as refusal:
        table.play(session.revoke, "gm")
    assert refusal.value.reason == "last_gm"
    mint(table, Role.GM, "second")
    table.play(session.revoke, "gm")  # the first may go then, by its own hand
    with pytest.raises(NotAllowed):
        table.play(session.revoke, "second", by=Token(id="second", role=Role.GM, created_ms=5))
    assert ids(table) == ["second"]


def test_tokens_are_listed_from_the_oldest():
    table = Table()
    for identifier, created_ms in (("b", 5), ("a", 5), ("c", 4)):
        told = Token(id=identifier, role=Role.OBSERVER, created_ms=created_ms)
        table.play(session.mint, identifier, told)
    assert ids(table) == ["gm", "c", "a", "b"]
    assert table.play(session.tokens).tokens[0] == session.token_facts(GM)
