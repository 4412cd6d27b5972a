"""Snapshot images and their manifests: what a snapshot is on disk, how it is written, and how it proves itself.

A snapshot exists when its manifest exists. May import contracts, settings, telemetry and domain. Start with `manifest`.
"""
