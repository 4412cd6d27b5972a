"""Templates that people make: builds are records, carried out one step after the other, each kept as a layer.

`builds` is what callers ask for, `queue` decides when a build runs, `planning` what of it is there already, `runner` does the
rest; `layers` and `logs` are what is left of it. Start with `planning.py`.
"""
