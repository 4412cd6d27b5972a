"""Calls between Roost's processes on one machine, over a Unix socket that only their user can open.

    method   what can be asked: a name and the types of question and answer. Start here
    server   answers: `Service` collects handlers, `serve` runs them
    client   asks: one connection that is made again when the other process is
    frames   what goes over the wire
    failures errors on their way across
    sockets  the listening socket, made by whoever starts the processes

A question and an answer are dataclasses of `domain` and `contracts`, sent as JSON and checked on arrival: nothing that the other
side sends is ever executed. May import `telemetry` and `domain`. Only `drivers` and what composes the house use it: control, edge
and node know contracts.
"""
