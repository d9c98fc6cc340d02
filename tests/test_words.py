"""Message files: both languages say the same things, nothing is said half, and words find their ids."""

import ast
import re
import string
from pathlib import Path

import pytest

import service
from service.systems import SYSTEMS
from service.words import LOCALES, Lang, Vocabulary, Words, folded, load

SERVICE = Path(service.__file__).parent
OWN = load(SERVICE / "messages")
FILES = {"service": OWN, **{game.id: game.messages() for game in SYSTEMS.values()}}
CATEGORIES = {"zero", "one", "two", "few", "many", "other"}


def needed(lang):
    """The plural categories of the language, as CLDR has them."""
    return LOCALES[lang].plural_form.tags | {"other"}


def is_plural(value):
    return isinstance(value, dict) and value.keys() <= CATEGORIES


def messages(tree, before=""):
    """Every message by its key: a text, or one text for each plural category."""
    for key, value in tree.items():
        if isinstance(value, str) or is_plural(value):
            yield before + key, value
        elif isinstance(value, dict):
            yield from messages(value, f"{before}{key}.")


def by_key(file, lang):
    return dict(messages(FILES[file][lang]))


def texts(message):
    return list(message.values()) if isinstance(message, dict) else [message]


def placeholders(text):
    return {field for _, field, _, _ in string.Formatter().parse(text) if field is not None}


@pytest.mark.parametrize("file", FILES)
def test_both_languages_have_the_same_messages_in_the_same_order(file):
    french, english = by_key(file, Lang.FR), by_key(file, Lang.EN)
    assert list(french) == list(english)
    assert [is_plural(said) for said in french.values()] == [is_plural(said) for said in english.values()]


@pytest.mark.parametrize("file", FILES)
def test_both_languages_name_the_same_things(file):
    french, english = by_key(file, Lang.FR), by_key(file, Lang.EN)
    named = {key: [placeholders(text) for text in texts(french[key]) + texts(english[key])] for key in english}
    assert {key: sets for key, sets in named.items() if any(each != sets[0] for each in sets)} == {}


@pytest.mark.parametrize("lang", Lang)
@pytest.mark.parametrize("file", FILES)
def test_every_plural_has_the_categories_of_its_language(file, lang):
    plurals = {key: said.keys() for key, said in by_key(file, lang).items() if is_plural(said)}
    assert plurals
    assert {key: categories for key, categories in plurals.items() if categories != needed(lang)} == {}


@pytest.mark.parametrize("lang", Lang)
@pytest.mark.parametrize("file", FILES)
def test_every_message_says_something(file, lang):
    assert not [key for key, said in by_key(file, lang).items() for text in texts(said) if not text.strip()]


@pytest.mark.parametrize("game", SYSTEMS)
def test_no_message_of_a_game_hides_one_of_the_service(game):
    assert not by_key(game, Lang.EN).keys() & by_key("service", Lang.EN).keys()


# Keys are written whole in the code, or with a part that is a word of the code too.


def code():
    for path in sorted(SERVICE.rglob("*.py")):
        yield from ast.walk(ast.parse(path.read_text("utf-8")))


@pytest.fixture(scope="module")
def written():
    """Strings in the code, and patterns of the f-strings that could make a key."""
    strings, patterns = set(), set()
    for node in code():
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            strings.add(node.value)
        elif isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
            parts = (re.escape(each.value) if isinstance(each, ast.Constant) else "(.+)" for each in node.values)
            if re.match(r"[a-z_]+\.", node.values[0].value):
                patterns.add(re.compile("".join(parts)))
    return strings, patterns


def is_written(text, written):
    strings, patterns = written
    if text in strings or text.isdecimal():
        return True
    matches = (pattern.fullmatch(text) for pattern in patterns)
    return any(match and all(is_written(part, written) for part in match.groups()) for match in matches)


# Labels that are there for completeness: no sentence and no query uses them so far.
NOT_SAID = {
    "sixd6": ["label.track.damage", "label.track.trauma"],
    "burn2d6": ["label.surge.available", "label.surge.used"],
}


@pytest.mark.parametrize("file", FILES)
def test_no_message_is_said_nowhere(file, written):
    assert [key for key in by_key(file, Lang.EN) if not is_written(key, written)] == NOT_SAID.get(file, [])


def test_a_message_that_nobody_says_would_be_found(written):
    assert is_written("table.clock_running", written)
    assert is_written("invalid.not_allowed.last_gm", written)
    for key in ("table.clock_standing", "invalid.unheard_of", "problem.not-there.title", "table.nobody_says_this"):
        assert not is_written(key, written)


REFUSALS = {
    "InvalidValue": (1, "invalid."),
    "NotAllowed": (0, "invalid.not_allowed."),
    "QuotaExceeded": (0, "invalid.quota."),
}
"""Where each refusal tells its problem, and where that is worded."""


def last_name(node):
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def wanted(call):
    """The key of a message that a call asks for by its whole name."""
    called = last_name(call.func)
    if called == "count" and last_name(call.func.value) in ("words", "game"):
        called = "words"
    at, before = REFUSALS.get(called, (0, ""))
    if called in ("words", *REFUSALS) and len(call.args) > at and isinstance(call.args[at], ast.Constant):
        yield f"{before}{call.args[at].value}"


def test_no_message_is_asked_for_that_is_not_there():
    keys = {key for node in code() if isinstance(node, ast.Call) for key in wanted(node)}
    assert {"table.revoked", "table.discarded", "say.pool", "invalid.taken", "invalid.not_allowed.last_gm"} <= keys
    assert keys - {key for file in FILES for key in by_key(file, Lang.EN)} == set()


# How messages are said.

PLURALS = [
    # number, French, English
    (0, "0 succès seul", "0 successes"),
    (1, "1 succès seul", "1 success"),
    (2, "2 succès", "2 successes"),
    (1_000_000, "1000000 de succès", "1000000 successes"),
]
COUNTED = {
    Lang.FR: {"won": {"one": "{n} succès seul", "many": "{n} de succès", "other": "{n} succès"}},
    Lang.EN: {"won": {"one": "{n} success", "other": "{n} successes"}},
}


@pytest.mark.parametrize(("number", "french", "english"), PLURALS)
def test_zero_is_singular_in_french(number, french, english):
    said = [Words(lang, COUNTED[lang]).count("won", number) for lang in (Lang.FR, Lang.EN)]
    assert said == [french, english]


def test_what_is_missing_is_not_said_half():
    words = Words(Lang.EN, {"say": {"hello": "Hello {name}"}, "word": {"a": {"b": ["c"]}}})
    assert words("say.hello", name="Zoé {name}") == "Hello Zoé {name}"  # a name is never a message
    assert words.keys() == {"say.hello"}
    for key, data in (("say.goodbye", {}), ("say.hello", {}), ("word.a.b", {})):
        with pytest.raises(KeyError):
            words(key, **data)


def test_a_game_s_messages_stand_beside_the_service_s():
    words = Words(Lang.FR, OWN[Lang.FR], FILES["sixd6"][Lang.FR])
    assert words("table.revoked")
    assert words.label("care", "calm_self") == "Se calmer"
    assert "label.care.calm_self" in words
    assert "label.care.calm_nobody" not in words


LISTS = [
    # items, French, English
    ([], "", ""),
    (["a"], "a", "a"),
    (["a", "b"], "a et b", "a and b"),
    (["a", "b", "c"], "a, b et c", "a, b, and c"),
]


@pytest.mark.parametrize(("items", "french", "english"), LISTS)
def test_lists_and_numbers_are_said_as_each_language_says_them(items, french, english):
    words = {lang: Words(lang) for lang in Lang}
    assert words[Lang.FR].listed(items) == french
    assert words[Lang.EN].listed(iter(items)) == english
    assert (words[Lang.FR].number(1.5), words[Lang.EN].number(1.5)) == ("1,5", "1.5")


# Game words are understood in both languages, without case or accents.

FOUND = [
    # game, section, typed, id
    ("sixd6", "difficulty", "Difficile", "hard"),
    ("sixd6", "difficulty", "EXTREME", "extreme"),
    ("sixd6", "difficulty", "extrême", "extreme"),
    ("sixd6", "difficulty", "hard", "hard"),
    ("sixd6", "difficulty", " 3   succès ", "hard"),
    ("sixd6", "aptitude", "controle", "control"),
    ("sixd6", "aptitude", "Réactivité", "reactivity"),
    ("sixd6", "qualification", "Furtivité", "stealth"),
    ("sixd6", "qualification", "stealth", "stealth"),
    ("sixd6", "care", "treat_damage", "treat_damage"),
    ("sixd6", "care", "treat damage", "treat_damage"),
    ("sixd6", "care", "Calmer autrui", "calm_other"),
    ("sixd6", "soak", "serrer les dents", "grit"),
    ("sixd6", "threat", "D8", "d8"),
    ("sixd6", "protection", "protection legere", "light"),
    ("sixd6", "deck", "Complications légères", "light"),
    ("sixd6", "difficulty", "seven", None),
    ("sixd6", "difficulty", "", None),
    ("sixd6", "nothing", "hard", None),
]


@pytest.mark.parametrize(("game", "section", "typed", "identifier"), FOUND)
def test_words_find_their_ids(game, section, typed, identifier):
    assert SYSTEMS[game].words().find(section, typed) == identifier


def unaccented(text):
    return folded(text).upper()


@pytest.mark.parametrize("game", SYSTEMS)
def test_every_word_finds_its_id_in_capitals_without_accents(game):
    vocabulary = SYSTEMS[game].words()
    for section in SYSTEMS[game].vocabulary.values():
        shown = vocabulary.shown(section)
        assert shown
        for identifier, spellings in shown.items():
            assert {vocabulary.find(section, unaccented(each)) for each in spellings} == {identifier}


@pytest.mark.parametrize("game", SYSTEMS)
def test_every_member_of_a_closed_set_has_a_label_in_both_languages(game):
    for members, section in SYSTEMS[game].vocabulary.items():
        for lang in Lang:
            assert list(FILES[game][lang]["label"][section]) == [each.value for each in members]


@pytest.mark.parametrize("lang", Lang)
@pytest.mark.parametrize("game", SYSTEMS)
def test_labels_are_told_apart(game, lang):
    for section, labels in FILES[game][lang]["label"].items():
        assert len({folded(label) for label in labels.values()}) == len(labels), section


@pytest.mark.parametrize("lang", Lang)
@pytest.mark.parametrize("game", SYSTEMS)
def test_further_words_belong_to_something_that_has_a_label(game, lang):
    labels = FILES[game][lang]["label"]
    for section, others in FILES[game][lang].get("word", {}).items():
        assert others.keys() <= labels[section].keys()


def test_a_word_cannot_stand_for_two():
    tree = {"label": {"kind": {"a": "Été", "b": "Hiver"}}}
    with pytest.raises(ValueError, match="stands for two of kind"):
        Vocabulary({Lang.FR: tree, Lang.EN: {"label": {"kind": {"a": "Hiver"}}}})
    vocabulary = Vocabulary({Lang.FR: tree, Lang.EN: {"label": {"kind": {"a": "Summer", "b": "Winter"}}}})
    assert vocabulary.shown("kind") == {"a": ["a", "Été", "Summer"], "b": ["b", "Hiver", "Winter"]}


FOLDED = [
    ("L’Œuvre", "l'oeuvre"),
    ("e\u0301té", "ete"),
    ("  sang-froid ", "sang-froid"),
    ("treat_damage", "treat damage"),
    ("ＤＵＲ", "dur"),
    ("Straße", "strasse"),
    ("a\u00a0\t b", "a b"),
]


@pytest.mark.parametrize(("text", "same"), FOLDED)
def test_words_are_compared_without_case_accents_and_spaces(text, same):
    assert folded(text) == same
