"""What the bot itself says, and the French of its commands. Everything else is said by the service."""

from discord import Locale, app_commands
from discord.app_commands import TranslationContextTypes, locale_str

SAID = {
    "en": {
        "no_table": "No table is open in this channel: `/table open` opens one.",
        "unreachable": "The dice service does not answer. What you asked for may have been done all the same. "
        "Give the same command again within five minutes: it counts once.",
        "secret": "Something was done in secret.",
        "failed": "Something went wrong here, and it is in the bot's log.",
        "opened": "The table is open. Roll with `/roll`, draw with `/draw`.",
    },
    "fr": {
        "no_table": "Aucune table n’est ouverte dans ce salon : `/table ouvrir` en ouvre une.",
        "unreachable": "Le service de dés ne répond pas. Ce que vous avez demandé est peut-être fait malgré tout. "
        "Redonnez la même commande dans les cinq minutes : elle compte une seule fois.",
        "secret": "Quelque chose a été fait en secret.",
        "failed": "Quelque chose a échoué ici ; le journal du bot le dit.",
        "opened": "La table est ouverte. Lancez avec `/jet`, tirez avec `/tirer`.",
    },
}

FRENCH = {
    # commands
    "roll": "jet",
    "Roll a pool of dice": "Lancer une réserve de dés",
    "hit": "coup",
    "Take a hit, soak included": "Encaisser un coup, encaissement compris",
    "heal": "soigner",
    "Roll to heal, within the two-hour limits": "Lancer les dés pour soigner, dans les limites des deux heures",
    "draw": "tirer",
    "Draw complication cards": "Tirer des cartes de complication",
    "cards": "cartes",
    "Show the active cards": "Montrer les cartes actives",
    "discard": "défausser",
    "Discard a character's cards": "Défausser les cartes d’un personnage",
    "timers": "délais",
    "When can a character be healed again?": "Quand un personnage peut-il être soigné à nouveau ?",
    "undo": "annuler",
    "Take back the last event of the table": "Annuler le dernier événement de la table",
    "action": "action",
    "Roll an action of Burn 2d6": "Lancer une action de Burn 2d6",
    "table": "table",
    "The table of this channel": "La table de ce salon",
    "open": "ouvrir",
    "Open a table in this channel": "Ouvrir une table dans ce salon",
    "add": "ajouter",
    "Add a character to the table": "Ajouter un personnage à la table",
    # options
    "character": "personnage",
    "Who it is for": "Pour qui",
    "base": "base",
    "Base dice, where no sheet gives them": "Dés de base, si aucune fiche ne les donne",
    "aptitude": "aptitude",
    "Aptitude of the sheet": "Aptitude de la fiche",
    "qualification": "qualification",
    "Qualification of the sheet": "Qualification de la fiche",
    "red": "rouges",
    "Red dice": "Dés rouges",
    "difficulty": "difficulté",
    "Difficulty of the roll": "Difficulté du jet",
    "visibility": "visibilité",
    "Who may see it": "Qui peut le voir",
    "die": "dé",
    "Damage die": "Dé de dégâts",
    "soak": "encaissement",
    "How the damage is soaked": "Comment les dégâts sont encaissés",
    "care": "soin",
    "Which care": "Quel soin",
    "carer": "soigneur",
    "Who cares, if not the patient": "Qui soigne, si ce n’est pas le patient",
    "level": "niveau",
    "Damage or trauma before the roll, where no sheet holds it": "Dégâts ou trauma avant le jet, sans fiche",
    "deck": "paquet",
    "Which deck": "Quel paquet",
    "count": "nombre",
    "How many cards": "Combien de cartes",
    "value": "valeur",
    "Full value of the stat": "Valeur entière de la caractéristique",
    "dice": "dés",
    "Dice that the situation asks for": "Dés que la situation demande",
    "burn": "brûler",
    "Points to burn, each removes a die": "Points à brûler, chacun retire un dé",
    "names": "noms",
    "Names of the characters, with commas": "Noms des personnages, séparés par des virgules",
    "tier": "palier",
    "Points of a healing tier": "Points d’un palier de soin",
    "name": "nom",
    "Name of the character": "Nom du personnage",
    # choices
    "everybody": "tout le monde",
    "the game master and me": "le meneur et moi",
    "the game master only": "le meneur seulement",
    "me only": "moi seulement",
}


class French(app_commands.Translator):
    async def translate(self, string: locale_str, locale: Locale, context: TranslationContextTypes) -> str | None:
        return FRENCH.get(string.message) if locale is Locale.french else None


def lang_of(locale: Locale | None) -> str:
    return "fr" if locale is Locale.french else "en"
