"""Viewers of a sandbox's screen: their WebSockets end here, and what they say is read as far as it has to be."""
