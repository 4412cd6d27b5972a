"""What callers ask of sandboxes and their snapshots, a class per noun.

`checks` says what is legal, `references` what a name means.
"""
