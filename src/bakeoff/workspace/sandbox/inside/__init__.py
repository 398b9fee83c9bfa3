"""The program that builds a sandbox around itself and then becomes the command. Standard library only, quick to import."""
