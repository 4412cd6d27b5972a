"""Puts the house together, once, by plain constructors: a module for each process. `serving` serves them.

node      what carries out orders on this machine
control   the control plane with its API and the edge
identity  what the home knows about itself: version, the node's name, secrets
"""
