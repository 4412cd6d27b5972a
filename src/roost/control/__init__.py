"""The use cases, one class per noun. Decides, writes the records, orders the nodes; never touches a sandbox's bytes.

Owns every transaction. May import `contracts`, `telemetry` and `domain`; knows neither HTTP nor a driver.
Start reading with `moves`: every change of a sandbox's state goes through it. `keeper` does the same without being asked.

    sandboxes  power  snapshots  forks  templates  keys  feed     what callers ask for
    moves (flights, orders, endings)                               how it is done, exactly once
    links  drivers (notices)                                       screens and ports for people, and who of them drives
    directory                                                      where each sandbox is, for the edge
    keeper (nodes, pulses, alarm)                                  deadlines, idle sleep, repair, collecting
"""
