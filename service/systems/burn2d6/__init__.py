"""Burn 2d6. Its rules chapter is by Kevin Borrup (Saltheart RPG), CC BY-SA 4.0."""
