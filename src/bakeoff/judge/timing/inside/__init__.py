"""The programs that run beside the code being timed, in the interpreter of the user's project.

Standard library only. The folder is loaded by its path, as bakeoff is not there: its parts are imported relatively.
"""
