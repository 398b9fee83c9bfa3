"""Jobs on the command line: how runs of each are gone on with, shown, followed, reported and landed; a file each."""
