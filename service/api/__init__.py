"""HTTP and nothing else: reading strictly, answering in words, the contract."""
