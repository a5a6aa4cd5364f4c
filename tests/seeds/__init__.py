"""One file for each document the project started from; each runs that document's programs."""
