"""Engines that isolate, one folder each, behind `contracts.runtime`."""
