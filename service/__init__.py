"""Emberdice: the mechanics of two tabletop games, over HTTP."""

__version__ = "0.1.0"
