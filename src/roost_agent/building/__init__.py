"""What a template is built with: files put into place, files taken out, and a machine that keeps nothing in memory.

All routes are the node's own (`app.py`), loaded when first asked for: no sandbox but a builder's ever pays for them.
"""
