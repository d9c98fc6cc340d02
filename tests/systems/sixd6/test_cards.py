"""A7: the two decks of cards. Names are the book's; no sentence is."""

import re
from pathlib import Path

import pytest

from service.systems.sixd6.complications import CardDuration, Deck, cards
from service.words import Lang

SOURCE = Path(__file__).parents[4] / "shared" / "rules" / "source-6d6-system.fr.txt"
"""Only on developers' machines: its sentences are not the project's."""

# In the order of the book.
NAMES = {
    Deck.LIGHT: [
        "Rire nerveux",
        "Applaudissement parasite",
        "Grattage nerveux",
        "Exagération",
        "Grimace récurrente",
        "Tapotement",
        "Auto-contact",
        "Répétition",
        "Latence",
        "Justification",
        "Trop poli",
        "Regard fixe",
        "Murmure",
        "Mots techniques",
        "Façade",
        "Écho social",
        "Copie conforme",
        "Remerciement déplacé",
        "Excuse automatique",
        "Mauvais prénom",
        "Mot parasite",
        "Confession minuscule",
        "Ton publicitaire",
        "Compliment inadapté",
        "Décompte",
        "Syntaxe inversée",
        "Pourcentage absurde",
        "Notation qualité",
        "Main levée",
        "Statut vocal",
        "Résumé obligatoire",
        "Accord prématuré",
        "Mauvaise emphase",
        "Question rhétorique",
        "Validation orale",
        "Guillemets parasites",
        "Optimisation froide",
        "Vocabulaire enfantin",
        "Négociation inutile",
        "Comparaison culinaire",
        "Vouvoiement absurde",
        "Parenthèse infinie",
        "Troisième personne",
    ],
    Deck.GRAVE: [
        "Contamination",
        "Désynchronisation",
        "Panne d’équipe",
        "Erreur de communication",
        "Inversion",
        "Bruit blanc",
        "Messager",
        "Rôle inversé",
        "Réaffectation de loyauté",
        "Bulletin secret",
        "Porte-parole imposé",
        "Décompression",
        "Pantin",
        "Briefing inversé",
        "Dénonciation obligatoire",
        "Autorité dégradée",
        "Dissociation collective",
        "Patch instable",
    ],
}

# R20: the cards whose text in the book ends with the scene.
LAST_A_SCENE = [
    "Désynchronisation",
    "Pantin",
    "Briefing inversé",
    "Dénonciation obligatoire",
    "Autorité dégradée",
    "Patch instable",
]

EVERY = [card for deck in Deck for card in cards(deck).values()]
ids = [card.id for card in EVERY]


@pytest.mark.parametrize(("deck", "size"), [(Deck.LIGHT, 43), (Deck.GRAVE, 18)])
def test_a_deck_has_the_book_s_cards_in_its_order(deck, size):
    assert [card.fr.name for card in cards(deck).values()] == NAMES[deck]
    assert len(cards(deck)) == size


def test_ids_are_unique_over_both_decks():
    assert len(set(ids)) == 61
    assert all(cards(deck)[each].id == each for deck in Deck for each in cards(deck))


@pytest.mark.parametrize("card", EVERY, ids=ids)
def test_every_text_is_said_in_both_languages_within_bounds(card):
    for wording in (card.fr, card.en):
        assert 1 <= len(wording.name) <= 64
        assert 1 <= len(wording.effect) <= 300
        assert (wording.name, wording.effect) == (wording.name.strip(), wording.effect.strip())
        assert re.search(r"[.…!?»”)]$", wording.effect)  # a whole sentence
    assert card.fr.effect != card.en.effect


@pytest.mark.parametrize("lang", Lang)
def test_names_and_effects_tell_cards_apart(lang):
    worded = [card.worded(lang) for card in EVERY]
    assert len({each.name.casefold() for each in worded}) == 61
    assert len({each.effect.casefold() for each in worded}) == 61


def test_a_card_is_worded_in_the_language_asked_for():
    card = cards(Deck.LIGHT)["nervous-laugh"]
    assert card.worded(Lang.FR).name == "Rire nerveux"
    assert card.worded(Lang.EN).name == "Nervous laugh"


def test_six_grave_cards_last_a_scene():
    lasting = [card.fr.name for card in EVERY if card.lasts is CardDuration.SCENE]
    assert lasting == LAST_A_SCENE


def words(text):
    return re.findall(r"[^\W_]+", text.casefold())


def runs(text, length=6):
    said = words(text)
    return {" ".join(said[at : at + length]) for at in range(len(said) - length + 1)}


@pytest.mark.skipif(not SOURCE.exists(), reason=f"{SOURCE} is not here: whether sentences were copied cannot be told")
def test_no_effect_is_a_copy_of_the_source():
    source = runs(SOURCE.read_text("utf-8"))
    assert "tu tapes deux fois dans tes" in source
    copied = {card.id: (runs(card.fr.effect) | runs(card.en.effect)) & source for card in EVERY}
    assert {card: said for card, said in copied.items() if said} == {}
