"""TVMScript to modules.  `core` says how a dialect plugs in, `entry` has the ways in."""

from relax_mlir.script.parser.entry import from_source, ir_module, parse, pyfunc

__all__ = ["from_source", "ir_module", "parse", "pyfunc"]
