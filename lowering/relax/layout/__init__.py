"""Carrying layouts through a graph: the state of a conversion, a rule an operator, and costs."""
