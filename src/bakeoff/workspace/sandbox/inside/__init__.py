"""The program that builds a sandbox around itself and becomes the command. Standard library only, quick to start."""
