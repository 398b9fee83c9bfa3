"""Programs that run in the interpreter of the user's project, which has no bakeoff: the standard library only.

`server` is started; it loads this folder and the codec by their paths and forks for each evaluation.
"""
