"""Roost: computers for agents to live on."""
