"""Templates of one's own: `roost template …`."""
