"""`relax-run`: compile a module and run one of its functions, for numbers or for timings."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from relax_mlir.errors import Error
from relax_mlir.ir.function import BaseFunc
from relax_mlir.ir.module import IRModule
from relax_mlir.tools import inputs
from relax_mlir.tools.arguments import FILLERS, ArgumentMaker, Parameter, parameters_of


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    options = _parser().parse_args(arguments)
    try:
        _run(options)
    except (Error, TypeError, ValueError, RuntimeError) as error:
        print(f"relax-run: error: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="relax-run", description=__doc__)
    add = parser.add_argument
    add("file", help="MLIR text, or a Python file with TVMScript programs")
    add("--module", help="the program to take, when the file has several")
    add("--entry", help="the function to run (default: main, or the only public one)")
    add("--args", default="random", help=f"{', '.join(FILLERS)}, or an .npz file by parameter name")
    add("--seed", type=int, default=0, help="of the random arguments")
    add("--size", action="append", default=[], metavar="SYMBOL=N", help="value of a symbolic size")
    add("--target", default="llvm")
    add("--pipeline", default="default", help="name or text of the Relax pipeline to compile with")
    add("--time", action="store_true", help="print how long compiling and one call take")
    add("--number", type=int, default=10, help="calls in one measurement")
    add("--repeat", type=int, default=5, help="measurements")
    add("--output", metavar="FILE.npz", help="write the results instead of printing them")
    return parser


def _run(options: argparse.Namespace) -> None:
    module = inputs.load(options.file, options.module)
    name = options.entry or _default_entry(module)
    if name not in module:
        known = ", ".join(var.name_hint for var in module.get_global_vars())
        raise Error(f"there is no function '{name}'; there are {known}")
    function = module[name]
    parameters = parameters_of(function)
    values = [_arguments(options).make(parameter) for parameter in parameters]
    start = time.perf_counter()
    call = _compile(module, name, function, options)
    compiled = time.perf_counter() - start
    if options.time:
        _print_times(compiled, call, values, options)
        return
    results = _results(call, function, parameters, values)
    if options.output:
        savable: dict[str, Any] = {key: _savable(value) for key, value in results.items()}
        np.savez(options.output, **savable)
        return
    for key, value in results.items():
        print(f"{key}: {value.dtype}{list(value.shape)}\n{value}")


def _default_entry(module: IRModule) -> str:
    public = [
        var.name_hint for var, function in module.functions.items() if not function.is_private
    ]
    if "main" in public or len(public) != 1:
        return "main"
    return public[0]


def _arguments(options: argparse.Namespace) -> ArgumentMaker:
    sizes: dict[str, int] = {}
    for text in options.size:
        symbol, _, value = text.partition("=")
        if not value.isdigit():
            raise Error(f"--size takes SYMBOL=N, not '{text}'")
        sizes[symbol] = int(value)
    if options.args in FILLERS:
        return ArgumentMaker(options.args, options.seed, sizes)
    try:
        with np.load(options.args, allow_pickle=False) as stored:
            arrays = {key: stored[key] for key in stored.files}
    except (OSError, ValueError) as error:
        raise Error(f"cannot read arguments from '{options.args}': {error}") from None
    return ArgumentMaker("random", options.seed, sizes, arrays)


def _compile(
    module: IRModule, name: str, function: BaseFunc, options: argparse.Namespace
) -> Callable[..., Any]:
    from relax_mlir.driver import compile as compile_module
    from relax_mlir.relax.vm import VirtualMachine
    from relax_mlir.runtime import cpu

    executable = compile_module(module, options.target, relax_pipeline=options.pipeline)
    if function.attrs_key == "relax.attrs":
        return VirtualMachine(executable, cpu())[name]
    return executable[name]


def _results(
    call: Callable[..., Any],
    function: BaseFunc,
    parameters: Sequence[Parameter],
    values: list[Any],
) -> Mapping[str, np.ndarray]:
    """What a call gives: its results, or the buffers it changed."""
    if function.attrs_key == "relax.attrs":
        return _flatten("result", call(*values))
    before = [value.copy() if isinstance(value, np.ndarray) else value for value in values]
    call(*values)
    return {
        parameter.name: value
        for parameter, value, old in zip(parameters, values, before, strict=True)
        if isinstance(value, np.ndarray) and value.tobytes() != old.tobytes()
    }


def _flatten(name: str, value: Any) -> dict[str, np.ndarray]:
    if hasattr(value, "numpy"):
        return {name: np.asarray(value.numpy())}
    if isinstance(value, (int, float, bool, str)) or value is None:
        return {name: np.asarray(value)}
    found: dict[str, np.ndarray] = {}
    for index, entry in enumerate(value):
        found |= _flatten(f"{name}[{index}]", entry)
    return found


def _savable(value: np.ndarray) -> np.ndarray:
    """numpy stores its own dtypes only: bfloat16 and the like go out as float32."""
    return value if value.dtype.kind in "biufc" else value.astype(np.float32)


def _print_times(
    compiled: float, call: Callable[..., Any], values: list[Any], options: argparse.Namespace
) -> None:
    from relax_mlir.runtime.benchmark import time_function

    result = time_function(call, values, number=options.number, repeat=options.repeat)
    calls = [seconds * 1e6 for seconds in result.results]
    print(f"compile: {compiled * 1e3:.1f} ms")
    print(
        f"call: {np.median(calls):.2f} us (median of {len(calls)} x {options.number}; "
        f"min {min(calls):.2f}, max {max(calls):.2f})"
    )


if __name__ == "__main__":
    sys.exit(main())
