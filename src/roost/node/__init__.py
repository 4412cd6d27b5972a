"""One per machine: makes it so. Carries out orders with the engine, the disk and the network it was handed.

Owns the volume, the slots, the cgroups and the containers of this machine, and nothing of what they mean: that is control's.
Never imports control, edge or drivers. Start with `service`.
"""
