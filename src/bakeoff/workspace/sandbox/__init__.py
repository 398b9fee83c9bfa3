"""Sandbox for commands that run code nobody has read: what they may see, write, reach and use up.

`policy` says what is asked for, `machine` finds out what can be had here, `sandbox` puts a command in, `protection`
says for the receipt what was active. `inside/` is the program that the command is started by.
"""
