"""The blocking client. Every other file here is generated from `roost.client.aio`, where changes are made."""
