"""The command line: a folder per group that `roost --help` shows, in it a file per verb: a plain function that Typer reads.

Owns arguments, progress, what is printed and exit codes; decides nothing else. Verbs for sandboxes speak to a server
through `roost.client` alone; `up`, `down`, `setup` and `doctor` work on this machine. Prints results on stdout and
everything else on stderr.

Importing a verb's module must stay cheap: it imports what it needs when it runs. Start reading at `main.py`.
"""
