"""A Dockerfile and its context, as steps that a builder can carry out.

`parsing.parse` translates the text, `context.pack` gathers the files that its COPY steps take. Both run where the files are: on
the machine of whoever builds, never in the server. The official parser is Go's: a process that has it must not fork and go on.

Start: parsing.py. Imports `domain` alone.
"""
