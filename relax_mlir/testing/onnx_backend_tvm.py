"""The cases of ONNX's backend tests in Apache TVM, for `onnx_backend --tvm`.

Runs in processes of its own, in which our runtime is never loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from relax_mlir.testing.onnx_backend import (
    OUTCOMES,
    Result,
    declared,
    difference,
    line,
    with_constant,
)


def run_tvm_case(case: Any) -> Result:
    """Import, compile and run one case in TVM, and compare as for us.

    A case that fails is tried again with all inputs but the first as initializers.  TVM's refusals
    of an operator or an attribute are "unsupported"; every other error is "failed".
    """
    result = _tried(case, constants=False)
    if result.outcome in ("unsupported", "failed"):
        again = _tried(case, constants=True)
        if again.outcome == OUTCOMES[0]:
            return Result(case.name, OUTCOMES[1])
    return result


def _tried(case: Any, constants: bool) -> Result:
    try:
        tvm = import_module("tvm")
        for inputs, outputs in case.data_sets:
            model, feeds = _fed(case.model, list(inputs), constants)
            got = _run(tvm, model, feeds)
            wrong = difference(outputs, got, case.rtol, case.atol)
            if wrong:
                return Result(case.name, "wrong", wrong)
    except NotImplementedError as error:
        return Result(case.name, "unsupported", line(error))
    except Exception as error:
        refused = type(error).__name__.startswith("OpNotImplemented")
        return Result(case.name, "unsupported" if refused else "failed", line(error))
    return Result(case.name, OUTCOMES[0])


def _fed(model: Any, inputs: list[Any], constants: bool) -> tuple[Any, dict[str, Any]]:
    """The model, and the values of the inputs that are left to be given."""
    pairs = zip(model.graph.input, inputs, strict=False)
    given = {info.name: declared(info, value) for info, value in pairs if value is not None}
    for name in list(given)[1:] if constants else ():
        if not isinstance(given[name], list):
            model = with_constant(model, name, np.asarray(given.pop(name)))
    return model, given


def _run(tvm: Any, model: Any, given: dict[str, Any]) -> list[Any]:
    """The outputs of TVM with its default pipeline on one CPU."""
    from_onnx = import_module("tvm.relax.frontend.onnx").from_onnx
    shapes = {name: list(np.shape(value)) for name, value in given.items()}
    module = from_onnx(model, shapes, keep_params_in_input=False)
    executable = tvm.compile(module, target="llvm")
    machine = tvm.relax.VirtualMachine(executable, tvm.cpu())
    result = machine["main"](*(_argument(tvm, given[name]) for name in given))
    plain = result if _is_sequence(result) else [result]
    return [_array(value) for value in plain]


def _argument(tvm: Any, value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_argument(tvm, item) for item in value]
    return tvm.runtime.tensor(np.asarray(value))


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) or not hasattr(value, "numpy")


def _array(value: Any) -> Any:
    return [_array(item) for item in value] if _is_sequence(value) else value.numpy()
