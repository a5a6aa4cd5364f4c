"""Gradients of operators, by family, for relax-gradient."""
