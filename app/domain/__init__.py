"""What Sickbay decides, without doing anything: pure functions over frozen values, standard library only.

Nothing in here reads a clock, a file, a network or an environment variable; `now` is always an argument.
"""
