"""A sandbox's network: its slot (two namespaces and their links), the packet filter, DNS, and the gate for host names.

`slots` decides, `wires` makes, `spares` holds those that are nobody's, `firewall` says what may pass.
"""
