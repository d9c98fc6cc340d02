"""Answers for the places that show them. Knows sentences, dice and targets; no rule, no HTTP."""
