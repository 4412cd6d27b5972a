"""Facts and rules: what a sandbox, a snapshot and a template are, and what may happen to them.

Pure and synchronous, standard library only. No clock, no randomness, no I/O: time and random numbers are handed in.
Start with `lifecycle`; everything else is a record or a decision over records.
"""
