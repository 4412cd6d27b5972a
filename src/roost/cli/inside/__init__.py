"""Verbs that reach into a sandbox: commands, shells, files, its screen."""
