"""What the importer raises."""

from __future__ import annotations

from relax_mlir.errors import Error


class StablehloError(Error, ValueError):
    """A program that cannot be read, or that does not fit the inputs it is given."""


class UnsupportedStablehloOperatorError(Error, NotImplementedError):
    """Operations without a converter, or a use of one that has no Relax counterpart."""
