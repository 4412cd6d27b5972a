"""Verbs for the server and this machine."""
