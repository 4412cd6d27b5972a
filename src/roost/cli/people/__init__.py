"""Verbs for questions between agents and people."""
