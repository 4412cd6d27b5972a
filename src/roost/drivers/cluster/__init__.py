"""Nodes behind `contracts.cluster`: `local` is a cluster of one node, which may be in this process or, by `remote`, in another.
`served` is what that other process answers with, `wire` what both agree on.
"""
