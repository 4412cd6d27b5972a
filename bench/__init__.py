"""Measures Roost against the engine it stands on, in the same run, on the same image. `make bench`.

`server` runs a real server on a home of its own; `raw` drives `runsc` by its command line, as somebody without Roost would;
`cases` are the measurements; `report` prints the table, judges the bars and writes `bench/results/`. Nothing here is a test.
"""
