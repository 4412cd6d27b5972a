"""Verbs for looking on: logs, events, activity, links."""
