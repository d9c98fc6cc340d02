"""The games, by the id that their paths start with. A third one is a folder here and a line in this table."""

SYSTEMS = ("sixd6", "burn2d6")
