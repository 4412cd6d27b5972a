"""One suite per contract, run against every driver and every fake of it.

A suite is a class of tests that ask for one fixture, the thing under test; a test module subclasses it and provides that fixture.
Needs pytest and hypothesis, which Roost itself does not install. May import `contracts` and `domain`.
"""
