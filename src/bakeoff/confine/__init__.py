"""What a process on Linux puts on itself: system calls, rules about files, a filter of calls. Standard library only."""
