"""Passes from Relax to Relax: normalise, fold, fuse, remove."""
