"""Technologies: what the contracts are made of here. A folder per contract, a driver per technology.

Drivers translate and decide nothing. Foreign exceptions become `domain.errors` once, at the driver's edge. Drivers may import
`contracts`, `telemetry`, `settings` and `domain`, and never each other. Start with the contract a folder is named after.
"""
