"""PyTorch programs with something changed: arguments, operands, operators, dtypes, shapes, what the
graph says of its values.

The programs are those of `tests/models/torch_cases.py`, exported.  A changed one is refused by an
error that names the node or its operator, or gives what PyTorch gives for the changed graph.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.export import Dim, ExportedProgram, export
from torch.export.graph_signature import InputKind
from torch.fx import Interpreter, Node

from relax_mlir.errors import Error
from relax_mlir.relax.frontend.torch import from_exported_program
from relax_mlir.relax.frontend.torch.importer import to_numpy
from relax_mlir.runtime import tensor
from tests.fuzz.diagnostics import Fault, check_cause, run_imported
from tests.models import torch_cases, torch_gradient_cases
from tests.models.torch_harness import Together, compare, parts_beside

__all__ = ["check_program", "program_mutant"]

CASES = [
    case
    for family in (torch_cases.CASES | torch_gradient_cases.CASES).values()
    for case in family.values()
]
DYNAMIC = 0.3
"""The part of programs that are exported for any size."""

NUMBERS = (-(1 << 40), -7, -1, 0, 1, 2, 3, 8, 1 << 40)
FLOATS = (float("nan"), float("inf"), -1.0, 0.0, 0.5, 1e30)
WORDS = ("bogus", "mean", "floor", "trunc", "tanh", "")
SIZES = (0, 1, 2, 5, 64)
DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32,
          torch.int8, torch.uint8, torch.bool, torch.complex64)  # fmt: skip
TOLERANCE = {torch.float16: 2e-2, torch.bfloat16: 1e-1, torch.float32: 2e-3, torch.float64: 1e-7}

OF_ITS_KERNELS = ("not implemented", "out of range", "out of bounds", "pin_memory",
                  "index_size", "MKL FFT error")  # fmt: skip
"""What PyTorch says when it is the data that does not fit, or its implementation for a CPU."""
RANDOM = [
    getattr(torch.ops.aten, name)
    for name in (
        "rand", "randn", "rand_like", "randn_like", "randint", "randint_like", "bernoulli",
        "multinomial", "dropout", "native_dropout", "normal", "empty", "empty_like", "new_empty",
        "empty_strided", "new_empty_strided", "topk", "sort", "argsort", "median", "mode",
    )
]  # fmt: skip
"""Operators whose numbers are any, or whose order of equal elements is."""

Program = ExportedProgram
Change = Callable[[Program, np.random.Generator], None]
Interpreted = tuple[Program, list[torch.Tensor]]


def _pick(rng: np.random.Generator, options: Sequence[Any]) -> Any:
    return options[int(rng.integers(len(options)))] if len(options) else None


def _exported(rng: np.random.Generator) -> Interpreted:
    """A program, which is the caller's to change, and the inputs it was exported with."""
    function, tensors = _pick(rng, CASES)
    inputs = tuple(x.clone() for x in tensors)
    model = Together([function], [len(inputs)]).eval()
    if rng.random() < DYNAMIC:
        sizes = tuple(dict.fromkeys(range(x.ndim), Dim.AUTO) for x in inputs)
        try:
            return export(model, inputs, dynamic_shapes={"inputs": sizes}), list(inputs)
        except (ValueError, RuntimeError):  # a size that the program reads
            pass
    return export(model, inputs), list(inputs)


def _calls(program: Program) -> list[Node]:
    return [node for node in program.graph.nodes if node.op == "call_function"]


def _inputs(program: Program) -> list[Node]:
    return [node for node in program.graph.nodes if node.op == "placeholder"]


def _before(program: Program, node: Node) -> list[Node]:
    nodes = list(program.graph.nodes)
    return nodes[: nodes.index(node)]


def _changed_value(value: Any, rng: np.random.Generator) -> Any:
    """Another value for an argument that is no node."""
    if isinstance(value, bool):
        return _pick(rng, (not value, None))
    if isinstance(value, int):
        return _pick(rng, NUMBERS)
    if isinstance(value, float):
        return _pick(rng, FLOATS)
    if isinstance(value, str):
        return _pick(rng, WORDS)
    if isinstance(value, torch.dtype):
        return _pick(rng, DTYPES)
    return _pick(rng, (None, 0, 1.5, True, "bogus", [1], torch.int64))


def _changed_list(values: Sequence[Any], rng: np.random.Generator) -> list[Any]:
    changed = list(values)
    kind = _pick(rng, ("change", "drop", "add"))
    if kind == "add" or not changed:
        changed.append(_pick(rng, changed or NUMBERS))
    elif kind == "drop":
        changed.pop()
    else:
        at = int(rng.integers(len(changed)))
        changed[at] = _changed_value(changed[at], rng)
    return changed


def other_argument(program: Program, rng: np.random.Generator) -> None:
    """Another number, word, dtype or list of them."""
    node = _pick(rng, _calls(program))
    given = [*enumerate(node.args), *node.kwargs.items()] if node else []
    chosen = _pick(rng, [place for place, value in given if not isinstance(value, Node)])
    if chosen is None:
        return
    value = node.kwargs[chosen] if isinstance(chosen, str) else node.args[chosen]
    several = isinstance(value, (list, tuple))
    new = _changed_list(value, rng) if several else _changed_value(value, rng)
    if isinstance(chosen, str):
        node.update_kwarg(chosen, new)
    else:
        node.update_arg(chosen, new)


def without_argument(program: Program, rng: np.random.Generator) -> None:
    node = _pick(rng, _calls(program))
    if node is None:
        return
    if node.kwargs and rng.random() < 0.3:
        name = _pick(rng, list(node.kwargs))
        node.kwargs = {key: value for key, value in node.kwargs.items() if key != name}
    else:
        node.args = node.args[: int(rng.integers(len(node.args)))] if node.args else ()


def more_arguments(program: Program, rng: np.random.Generator) -> None:
    """Another argument at the end, or by a name."""
    node = _pick(rng, _calls(program))
    if node is None:
        return
    value = _pick(rng, (0, 1, -1, 2.0, True, None, [0], [1, 2], torch.float64, "bogus"))
    if rng.random() < 0.5:
        node.args = (*node.args, value)
    else:
        name = _pick(rng, ("dim", "keepdim", "alpha", "dtype", "bogus"))
        node.kwargs = {**node.kwargs, name: value}


def other_operand(program: Program, rng: np.random.Generator) -> None:
    """Another value of the graph, a number or nothing in place of a tensor."""
    node = _pick(rng, _calls(program))
    places = [i for i, value in enumerate(node.args) if isinstance(value, Node)] if node else []
    at = _pick(rng, places)
    if at is None:
        return
    others = [*_before(program, node), 2, 0.5, None]
    node.update_arg(at, _pick(rng, others))


def other_operator(program: Program, rng: np.random.Generator) -> None:
    """The operator of a node of another program."""
    node = _pick(rng, _calls(program))
    others = _calls(_exported(rng)[0])
    if node is not None and others:
        node.target = _pick(rng, others).target


def other_overload(program: Program, rng: np.random.Generator) -> None:
    node = _pick(rng, [call for call in _calls(program) if hasattr(call.target, "overloadpacket")])
    if node is not None:
        packet = node.target.overloadpacket
        node.target = getattr(packet, _pick(rng, packet.overloads()))


def other_input(program: Program, rng: np.random.Generator) -> None:
    """Another size, rank or dtype of an input."""
    inputs = _inputs(program)
    if not inputs:
        return
    node = inputs[int(rng.integers(len(inputs)))]
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        return
    shape, dtype = list(value.shape), value.dtype
    kind = _pick(rng, ("size", "rank", "dtype"))
    if kind == "dtype":
        dtype = _pick(rng, DTYPES)
    elif kind == "rank" or not shape:
        shape.append(2)
    else:
        shape[int(rng.integers(len(shape)))] = _pick(rng, SIZES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        node.meta["val"] = value.new_empty(shape, dtype=dtype)


def without_meta(program: Program, rng: np.random.Generator) -> None:
    """What the graph says of a value is lost, or is nonsense."""
    node: Node = _pick(rng, list(program.graph.nodes)[:-1])
    if rng.random() < 0.5:
        node.meta.clear()
    else:
        node.meta["val"] = _pick(rng, (None, 7, "bogus", [1, 2]))


def other_result(program: Program, rng: np.random.Generator) -> None:
    """The program returns other values, or what is none."""
    output = next(node for node in program.graph.nodes if node.op == "output")
    values = [*_before(program, output), None, 3]
    output.args = ((_pick(rng, values), *output.args[0][1:]),)


CHANGES: tuple[Change, ...] = (
    other_argument, other_argument, other_argument, without_argument, more_arguments, other_operand,
    other_operand, other_operator, other_overload, other_input, other_input, without_meta,
    other_result,
)  # fmt: skip


def program_mutant(seed: int) -> Interpreted:
    """A changed program, and the inputs of the program as it was."""
    rng = np.random.default_rng(seed)
    program, inputs = _exported(rng)
    for _ in range(int(rng.integers(1, 3))):
        _pick(rng, CHANGES)(program, rng)
    return program, inputs


def check_program(seed: int) -> str:
    """What became of a changed program: "refused" by the importer, "uncompiled", "raised" when it
    ran, or "accepted".  Raises whatever is no error for the user."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program, inputs = program_mutant(seed)
        return _outcome(program, inputs)


def _outcome(program: Program, inputs: list[torch.Tensor]) -> str:
    try:
        module = from_exported_program(program)
    except Error as error:
        _check_place(error, program)
        return "refused"
    given = _fitting(program, inputs)
    outcome, got = run_imported(module, map(_to_ours, given))
    if outcome == "accepted":
        _check_same(got, program, given)
    return outcome


def _values(program: Program, inputs: list[torch.Tensor]) -> list[Any]:
    """What the graph's placeholders stand for: inputs, and the weights of the program."""
    given = iter(inputs)
    return [
        next(given)
        if spec.kind is InputKind.USER_INPUT
        else program.state_dict.get(str(spec.target), program.constants.get(str(spec.target)))
        for spec in program.graph_signature.input_specs
    ]


def _to_ours(given: Any) -> Any:
    return tensor(to_numpy(parts_beside(given))) if isinstance(given, torch.Tensor) else given


def _fitting(program: Program, inputs: list[torch.Tensor]) -> list[Any]:
    """The inputs as the changed graph declares them."""
    specs = program.graph_signature.input_specs
    pairs = zip(specs, _inputs(program), strict=True)
    nodes = [node for spec, node in pairs if spec.kind is InputKind.USER_INPUT]
    return [_declared(node.meta["val"], x) for node, x in zip(nodes, inputs, strict=True)]


def _declared(value: Any, given: torch.Tensor) -> Any:
    """A tensor's numbers in the shape and dtype of a graph's value, or that value: a number."""
    if not isinstance(value, torch.Tensor):
        return value
    if value.ndim == given.ndim:
        pairs = zip(value.shape, given.shape, strict=True)
        shape = [size if isinstance(size, int) else own for size, own in pairs]
    else:
        shape = [size if isinstance(size, int) else 2 for size in value.shape]
    numbers = np.resize(to_numpy(given.real.to(torch.float64)), shape)
    return torch.from_numpy(numbers).to(value.dtype)


def _check_same(got: Any, program: Program, inputs: list[Any]) -> None:
    """Raise Fault unless PyTorch gives the same of the changed graph.  Its kernels of gradients do
    not check what they are given, and may end the process."""
    targets = [getattr(node.target, "overloadpacket", None) for node in _calls(program)]
    if any("_backward" in str(target) for target in targets):
        return
    program.graph_module.recompile()
    try:
        with torch.no_grad():
            result = Interpreter(program.graph_module).run(*_values(program, inputs))
    except Exception as error:
        if any(words in str(error) for words in OF_ITS_KERNELS):
            return
        raise Fault(f"PyTorch refuses what was accepted: {error}") from error
    if any(target in RANDOM for target in targets):
        return
    wanted = [x if isinstance(x, torch.Tensor) else torch.tensor(x) for x in _leaves(result)]
    if len(got) != len(wanted):
        raise Fault(f"{len(got)} results, PyTorch gives {len(wanted)}")
    for index, (ours, theirs) in enumerate(zip(got, wanted, strict=True)):
        limit = TOLERANCE.get(parts_beside(theirs).dtype, 0)
        array = ours.numpy() if hasattr(ours, "numpy") else np.array(ours)
        wrong = compare(f"result {index}", array, theirs, (limit, limit))
        if wrong:
            raise Fault(wrong)


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _leaves(item)]
    return [] if value is None else [value]


def _check_place(error: Error, program: Program) -> None:
    """Raise Fault unless the error names an operator or a value of the graph.  One that shows the
    node's arguments is for the user, whatever was raised behind it."""
    if "cannot be computed of (" not in str(error):
        check_cause(error)
    names = [name for node in program.graph.nodes for name in (node.name, str(node.target))]
    text = str(error)
    # The nodes of a program that had to be decomposed are others.
    if not any(name in text for name in [*names, "PyTorch operator '"]):
        raise Fault(f"the error names nothing of the program: {text[:300]}") from error
