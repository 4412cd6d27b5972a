"""Fakes that pass the conformance suites of their contracts, and faults to be met on purpose. For tests; nothing here is served.

May import `contracts` and `domain`. Start reading with `node` (a machine in memory) and `faults` (a server that dies somewhere).
"""
