"""What the node tells the agent about its sandbox's life: who it is, who drives it, that it will be saved, that it was restored.

Owns: the sandbox's identity inside (hostname, machine id, host keys, resolver, token, variables), and where programs inside
find who drives. The routes here are open to the node alone. May import: the package's root modules and `processes` (to run
programs). Start reading in `init.py`.
"""
