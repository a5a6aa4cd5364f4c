"""Runs collected TVMScript programs through the parser and both texts; see `run_corpus.py`."""
