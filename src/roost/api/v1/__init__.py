"""`/v1`, Roost's own API: a file per noun. Start reading at `models.py` (what goes in and out), then `sandboxes.py`."""
