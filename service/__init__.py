"""Emberdice: the mechanics of two tabletop games, over HTTP."""
