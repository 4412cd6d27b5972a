"""The gate of a slot: where connections go whose host has to be known by name, or that must be changed on their way.

The kernel sends them here (`node.firewall`): into a listener in the slot's own router namespace, so whose they are is
beyond doubt, and out of it again by sockets of that same namespace, so the host's firewall sees them as it sees all
traffic of the sandbox. Only slots whose policy asks for it have a gate; all other traffic never leaves the kernel.

May import: `node.wires`, `node.names`, the domain. Start reading in `gates.py`, then `conduct.py`; what HTTP through a gate may
say is in `messages.py`, how secrets are kept out of answers in `scrub.py`.
"""
