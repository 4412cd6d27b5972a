"""How the state of a sandbox changes, exactly once, whoever asks and whatever crashes.

`moves` is the one writer of `state`; `flights` carries moves out; `orders` is what a node is told, `endings` what is written
when a move ends. `keeper` is the one background loop and runs the `chores`; `recovery` and `repairs` take up what a dead
server or process left.
"""
