"""HTTP as bytes: heads, where bodies end, WebSocket frames. Passed on rather than parsed and made again."""
