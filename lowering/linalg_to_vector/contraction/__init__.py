"""Contractions: matching, register tiles, the loops and packing around them, row dot products."""
