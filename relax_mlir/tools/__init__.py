"""The command line: `relax-opt` transforms a module, `relax-run` compiles one and runs it."""
