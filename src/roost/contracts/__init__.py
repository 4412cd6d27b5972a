"""What the rooms promise each other: Protocols only, no behaviour. The docstrings are the contract.

Every method says what is true after it returns, whether it may be called twice, what it raises and whether it blocks.
All methods are asynchronous and never block the loop unless they say so. May import `domain` alone.
"""
