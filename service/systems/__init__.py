"""The games, by the id that their paths start with. A further one is a folder here and a line in this table."""

from service.systems import burn2d6, sixd6

SYSTEMS = {game.id: game for game in (sixd6.GAME, burn2d6.GAME)}
