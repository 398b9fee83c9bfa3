"""Confinement that a Linux process puts on itself: system calls, landlock, seccomp. Standard library only."""
