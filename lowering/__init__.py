"""The passes from Relax down to machine code, one a file, in the order of the road."""

if __name__ != "relax_mlir.lowering":
    raise ImportError(
        f"the passes are imported as 'relax_mlir.lowering', not as {__name__!r}: under two names "
        "every pass would be registered twice"
    )
