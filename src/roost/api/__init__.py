"""The protocols that the control plane speaks. Routes parse, make one call, render; they decide nothing.

Owns HTTP: paths, schemas, status numbers and the shape of errors. Touches `control`, `contracts` and `domain` alone.
Start reading at `app.py` (how it is put together), then `http.py` (errors), then `v1/` (our own API, a file per noun).
"""
