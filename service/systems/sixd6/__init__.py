"""6d6 System, in the order of its book."""
