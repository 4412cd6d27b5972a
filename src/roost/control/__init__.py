"""The use cases. Decides, writes the records, orders the nodes; never touches a sandbox's bytes.

Owns every transaction. May import `contracts`, `telemetry` and `domain`; knows neither HTTP nor a driver.

    lifecycle   how a sandbox's state changes, exactly once; and the keeper, which changes it unasked
    sandboxes   create, find, change, sleep, wake, snapshot, fork, roll back, kill, undelete
    templates   what sandboxes are made from, and building it
    people      screens and ports for people, who of them holds the keyboard, questions, events, the fleet's page
    fleet       the nodes, how busy they are, and where each sandbox is
    access      keys and tokens
    compose     joins all of it, once

Start reading with `lifecycle.moves`: every change of a sandbox's state goes through it.
"""
