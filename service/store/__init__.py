"""Redis and nothing else: connection, embedded server, the two scripts of a step, the log."""
