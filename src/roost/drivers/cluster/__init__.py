"""Nodes behind `contracts.cluster`: `local` is the one in this process."""
