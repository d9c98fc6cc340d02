"""What a session remembers, and the plays on it: (what was read, command, dice, time) → (facts, changes, events). No I/O."""
