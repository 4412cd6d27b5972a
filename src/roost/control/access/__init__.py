"""What opens Roost and its sandboxes: API keys, tokens, and what is taken back with a revoked key."""
