"""The dialects `relax` and `tir`: operations, types and attributes, one family a file."""

if __name__ != "relax_mlir.dialects":
    raise ImportError(
        f"the dialects are imported as 'relax_mlir.dialects', not as {__name__!r}: under two names "
        "every operation would be registered twice"
    )
