"""Verbs for sandboxes and their snapshots."""
