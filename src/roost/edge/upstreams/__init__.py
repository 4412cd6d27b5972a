"""Connections to whoever answers, a sandbox's port or the API: waking, dialling, waiting, and those kept for the next request."""
