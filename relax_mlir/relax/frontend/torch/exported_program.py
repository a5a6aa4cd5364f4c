"""`from_exported_program`: a program of `torch.export` becomes an IRModule."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from relax_mlir.relax.frontend.common import attach_params
from relax_mlir.relax.frontend.fourier import Complex
from relax_mlir.relax.frontend.torch.control_flow import (
    CONTROL_FLOW,
    has_control_flow,
    import_subgraphs,
)
from relax_mlir.relax.frontend.torch.importer import (
    Converter,
    Importer,
    TorchImportError,
    dtype_name,
    refuse_missing,
    to_numpy,
)
from relax_mlir.relax.frontend.torch.ops_complex import view_as_complex, view_as_real
from relax_mlir.relax.frontend.torch.tables import CONVERTERS
from relax_mlir.relax.frontend.torch.validity import misfit, refused_by_torch

if TYPE_CHECKING:
    import torch

    from relax_mlir.ir import IRModule


def _plain(function: Any) -> Converter:
    return lambda imp, *args: function(*args)


_SYMBOLIC: dict[Any, Converter] = {
    function: _plain(function)
    for name in "add sub mul floordiv mod neg eq ne lt le gt ge truediv pow".split()
    for function in [getattr(operator, name)]
}
"""Arithmetic on symbolic sizes."""


def _extremum(name: str) -> Converter:
    """`torch.sym_max` or `torch.sym_min` of two sizes."""

    def convert(imp: Any, a: Any, b: Any) -> Any:
        from relax_mlir import tir

        if isinstance(a, int) and isinstance(b, int):
            return max(a, b) if name == "max" else min(a, b)
        return getattr(tir, name)(a, b)

    return convert


_EXTREMA = {f"sym_{name}": _extremum(name) for name in ("max", "min")}

# Calls that check while tracing and compute nothing.
_CHECKS = ("_assert", "sym_constrain_range", "_check_is_size", "_set_grad_enabled")
_UNKNOWN = object()
_STATIC_LIMIT = 1 << 22
"""Elements of the largest value that is computed while importing."""


def from_exported_program(
    exported_program: torch.export.ExportedProgram,
    *,
    keep_params_as_input: bool = False,
    unwrap_unit_return_tuple: bool = False,
    no_bind_return_tuple: bool = False,
    custom_convert_map: Mapping[str, Converter] | None = None,
    run_ep_decomposition: bool = False,
) -> IRModule:
    """Import an exported program as a module with one function `main`.

    With `keep_params_as_input` the weights are parameters after the inputs (their values stay with
    the module, see `detach_params`), else they are constants.  A program that returns one tensor
    returns a tuple of one unless `unwrap_unit_return_tuple`; `no_bind_return_tuple` leaves the
    tuple out of the dataflow block.  Complex inputs and results, which Relax has not, are their
    parts along one more axis, as of `torch.view_as_real`.  `custom_convert_map` maps an operator
    ("aten.relu.default" or just "relu") to a function `(importer, *args, **kwargs) -> expression`.

    Raises UnsupportedOperatorError naming every operator without a converter.
    """
    if run_ep_decomposition:
        exported_program = _decomposed(exported_program)
    elif _mutates(exported_program):
        exported_program = _decomposed(exported_program, {})
    return ExportedProgramImporter(exported_program, custom_convert_map).run(
        keep_params_as_input, unwrap_unit_return_tuple, no_bind_return_tuple
    )


def _decomposed(program: Any, *table: Any) -> Any:
    """A program without operators that write into their arguments, or of `table`'s rules."""
    try:
        return program.run_decompositions(*table)
    except Exception as error:
        nodes = [node.name for node in program.graph.nodes]
        raise TorchImportError(
            f"PyTorch cannot decompose the program of the nodes {', '.join(nodes[:8])} ...: {error}"
        ) from None


class ExportedProgramImporter(Importer):
    def __init__(self, program: Any, custom: Mapping[str, Converter] | None):
        super().__init__({**CONVERTERS, **_SYMBOLIC, **_EXTREMA, **CONTROL_FLOW}, custom)
        self.program = program
        self.custom = custom
        self.subgraphs: dict[int, Any] = {}
        self.current_node: Any = None
        self.symbols: dict[str, Any] = {}
        self.nodes: dict[int, Any] = {}
        self.static_values: dict[Any, Any] = {}
        self.read_statically = False

    def key_of(self, target: Any) -> Any:
        """The table's key for a node's target: `aten.add.Tensor`, `add.Tensor` or `add`."""
        if target in self.converters:
            return target
        full = str(target)
        if getattr(target, "__name__", "") in _EXTREMA:  # a plain function, not an operator
            return target.__name__
        short = full.removeprefix("aten.")
        name = short.split(".")[0]
        plain = name if name.endswith("__") else name.rstrip("_")
        found = next((k for k in (full, short, name, plain) if k in self.converters), None)
        if found is not None:
            return found
        return full if hasattr(target, "overloadpacket") else target

    def run(self, keep_params: bool, unwrap: bool, no_bind: bool) -> IRModule:
        graph_module = self.program.graph_module
        refuse_missing(self.missing((self.key_of(n.target), n) for n in _calls(graph_module)))
        import_subgraphs(self, graph_module)
        inputs, weights = self._parameters(keep_params)
        attrs = {"num_input": len(inputs)} if keep_params else None
        builder = self.block_builder
        controlled = has_control_flow(graph_module.graph)
        with builder.function("main", [*inputs, *weights], attrs=attrs):
            if controlled:
                output = self._convert(graph_module, unwrap)
                output = output if no_bind else builder.emit(output)
            else:
                with builder.dataflow():
                    output = self._convert(graph_module, unwrap)
                    if not (no_bind and isinstance(output, self.relax.Tuple)):
                        output = builder.emit_output(output)
                    else:
                        fields = [builder.emit_output(field) for field in output.fields]
                        output = self.relax.Tuple(fields)
            builder.emit_func_output(output)
        module = builder.get()
        if self.subgraphs:
            module = self.relax.transform.ConvertToDataflow()(module)
        if self.read_statically:
            module = self.relax.transform.DeadCodeElimination()(module)
        if keep_params:
            attach_params(module, "main", self.values)
        return module

    def _convert(self, graph_module: Any, unwrap: bool) -> Any:
        """Bind every node of a graph; returns its output."""
        _refuse_invalid(graph_module.graph)
        nodes = list(graph_module.graph.nodes)
        for node in nodes:
            if node.op == "placeholder" and isinstance(self.env[node], self.relax.Var):
                if node.meta["val"].is_complex():
                    self.env[node] = view_as_complex(self, self.env[node])
            elif node.op == "get_attr":
                value = getattr(graph_module, node.target)
                self.env[node] = value if hasattr(value, "graph") else self.constant(value)
            elif node.op == "call_function" and not _is_check(node):
                self.current_node = node
                self.env[node] = self.call(self.key_of(node.target), node)
                self.nodes[id(self.env[node])] = node
        return self._output(nodes[-1], unwrap)

    def import_function(self, name: str, graph_module: Any) -> Any:
        """A private function that computes a graph of control flow; returns its variable."""
        part = ExportedProgramImporter(self.program, self.custom)
        part.block_builder, part.symbols = self.block_builder, self.symbols
        part.constants, part.subgraphs = self.constants, self.subgraphs
        import_subgraphs(part, graph_module)
        builder, variables = self.block_builder, []
        for node in graph_module.graph.nodes:
            if node.op == "placeholder":
                part.env[node] = self.variable(node)
                if self.is_tensor(part.env[node]):
                    variables.append(part.env[node])
        unique = builder.get_unique_name(name)
        with builder.function(unique, variables, private=True):
            builder.emit_func_output(builder.emit(part._convert(graph_module, unwrap=True)))
        return builder.get().get_global_var(unique)

    def call(self, key: Any, node: Any) -> Any:
        """A result whose size depends on data gets the symbols that PyTorch gave it."""
        result = super().call(key, node)
        if not self.is_tensor(result) or not self.expected:
            return result
        info = result.struct_info
        if not isinstance(info, self.relax.TensorStructInfo) or info.shape is not None:
            return result
        sized = self.relax.TensorStructInfo(self.expected, info.dtype)
        return self.block_builder.match_cast(result, sized)

    def reads_results(self, *indices: int) -> bool:
        readers = [user for user in self.current_node.users if user.target is operator.getitem]
        return any(user.args[1] in indices and user.users for user in readers)

    def stated_result(self) -> Any:
        value = self.current_node.meta.get("val")
        if value is None or isinstance(value, bool):
            return value
        several = isinstance(value, (list, tuple))
        return [self._dimension(v) for v in value] if several else self._dimension(value)

    def expected_shape(self, node: Any) -> list[Any] | None:
        shape = getattr(node.meta.get("val"), "shape", None)
        if shape is None:
            return None
        try:
            return [self._dimension(size) for size in shape]
        except ValueError:  # sizes that depend on data
            return None

    # -- values known while importing --------------------------------------------------------

    def static(self, expr: Any) -> Any:
        node = self.nodes.get(id(expr))
        value = None if node is None else self._evaluate(node)
        self.read_statically |= value is not None
        return value

    def _evaluate(self, node: Any) -> Any:
        """The node's value if only constants of the program reach it, computed by PyTorch."""
        if node not in self.static_values:
            self.static_values[node] = self._computed(node)
        return self.static_values[node]

    def _computed(self, node: Any) -> Any:
        from torch.fx.node import map_arg

        value = node.meta.get("val")
        shape = getattr(value, "shape", ())
        if not all(isinstance(size, int) for size in shape) or math.prod(shape) > _STATIC_LIMIT:
            return None
        if node.op != "call_function" or any(
            self._evaluate(argument) is None for argument in node.all_input_nodes
        ):
            return None
        args, kwargs = map_arg((node.args, node.kwargs), self._evaluate)
        try:
            return node.target(*args, **kwargs)
        except Exception as error:
            raise TorchImportError(
                f"PyTorch operator '{node.target}' (node '{node.name}') cannot be computed, says "
                f"PyTorch: {error}"
            ) from None

    def _parameters(self, keep_params: bool) -> tuple[list[Any], list[Any]]:
        """Variables for inputs and weights; weights become constants unless they are kept."""
        import torch
        from torch.export.graph_signature import InputKind

        nodes = {n.name: n for n in self.program.graph.nodes if n.op == "placeholder"}
        inputs: list[Any] = []
        weights: list[Any] = []
        self.values = []
        for spec in self.program.graph_signature.input_specs:
            node = nodes[spec.arg.name]
            if spec.kind is InputKind.USER_INPUT:
                self.env[node] = self.variable(node)
                if self.is_tensor(self.env[node]):
                    inputs.append(self.env[node])
                continue
            value = self._weight(spec)
            if not keep_params and spec.kind is not InputKind.PARAMETER:
                self.static_values[node] = value.detach()
            if keep_params:
                self.env[node] = self.variable(node)
                weights.append(self.env[node])
                real = torch.view_as_real(value) if value.is_complex() else value
                self.values.append(to_numpy(real))
            else:
                self.env[node] = self.constant(value)
        return inputs, weights

    def _weight(self, spec: Any) -> Any:
        program = self.program
        if spec.target in program.state_dict:
            return program.state_dict[spec.target]
        return program.constants[spec.target]

    def variable(self, node: Any) -> Any:
        """The variable of an input, or its value where PyTorch took it for a constant.

        A complex input is `torch.view_as_real` of it: its parts along one more axis.
        """
        value = node.meta.get("val", _UNKNOWN)
        if value is _UNKNOWN:
            raise TorchImportError(
                f"the graph does not say what its input '{node.name}' is: node.meta['val'] is lost",
                hint="a pass that adds inputs gives them a tensor there (FakeTensorProp does)",
            )
        if not hasattr(value, "shape"):
            return value
        dtype = dtype_name(value.dtype)
        try:
            shape = [self._dimension(size) for size in value.shape]
        except TorchImportError as error:
            raise TorchImportError(f"input '{node.name}': {error}") from None
        if value.is_complex():
            shape, dtype = [*shape, 2], dtype_name(value.dtype.to_real())
        return self.relax.Var(node.name, self.relax.TensorStructInfo(shape, dtype))

    def _dimension(self, size: Any) -> Any:
        """A symbolic size becomes a TensorIR variable of the same name."""
        from relax_mlir import tir

        if isinstance(size, int):
            return size
        name = str(size)
        if not name.isidentifier():
            return eval_dimension(name, self.symbols)
        if name not in self.symbols:
            self.symbols[name] = tir.SizeVar(name, "int64")
        return self.symbols[name]

    def _output(self, node: Any, unwrap: bool) -> Any:
        returned = node.args[0]
        if not isinstance(returned, (list, tuple)):  # of a graph of control flow
            returned = [returned]
        values = [self.retrieve(v) for v in returned if v is not None]
        for item, value in zip((v for v in returned if v is not None), values, strict=True):
            if isinstance(value, list):
                raise TorchImportError(
                    f"the program returns '{item}', which has several results: return each of them"
                )
        values = [self.emit(view_as_real(self, v)) if isinstance(v, Complex) else v for v in values]
        values = [v if self.is_tensor(v) else self.relax.PrimValue(v) for v in values]
        if unwrap and len(values) == 1:
            return values[0]
        return self.relax.Tuple(values)


def eval_dimension(text: str, symbols: Mapping[str, Any]) -> Any:
    """A size expression of PyTorch's, such as `2*s0 + 1`, over the variables of `symbols`."""
    import ast

    extrema = {name: partial(_extremum(name.lower()), None) for name in ("Max", "Min")}
    operations: dict[type, Any] = {
        ast.Add: operator.add,
        ast.Sub: operator.sub,
        ast.Mult: operator.mul,
        ast.FloorDiv: operator.floordiv,
    }

    def visit(node: ast.expr) -> Any:
        match node:
            case ast.Constant():
                return node.value
            case ast.Name() if node.id in symbols:
                return symbols[node.id]
            case ast.Name():
                raise TorchImportError(f"'{node.id}' of the size '{text}' is the size of no input")
            case ast.BinOp() if type(node.op) in operations:
                return operations[type(node.op)](visit(node.left), visit(node.right))
            case ast.UnaryOp(op=ast.USub()):
                return -visit(node.operand)
            case ast.Call(func=ast.Name("Max" | "Min" as name)):
                return reduce(extrema[name], map(visit, node.args))
        raise ValueError(f"size expression '{text}' is not understood")

    return visit(ast.parse(text, mode="eval").body)


def _calls(graph_module: Any) -> list[Any]:
    """The calls in a graph and in the graphs of its control flow."""
    found = []
    for node in graph_module.graph.nodes:
        if node.op == "call_function" and not _is_check(node):
            found.append(node)
        elif node.op == "get_attr" and hasattr(getattr(graph_module, node.target), "graph"):
            found += _calls(getattr(graph_module, node.target))
    return found


def _refuse_invalid(graph: Any) -> None:
    """Raises TorchImportError for a node that PyTorch itself refuses."""
    found = refused_by_torch(graph)
    if found is not None:
        node, said = found
        raise TorchImportError(
            f"PyTorch refuses the operator '{node.target}' of node '{node.name}', which "
            f"{misfit(node.args, node.kwargs)}: {said}",
            hint="a pass that changes a graph runs FakeTensorProp on it to find such nodes",
        )


def _is_check(node: Any) -> bool:
    name = str(node.target).removeprefix("aten.")
    return name.startswith(_CHECKS)


def _mutates(program: Any) -> bool:
    """Whether an operator of the graph writes into one of its arguments."""
    schemas = (getattr(node.target, "_schema", None) for node in program.graph.nodes)
    return any(schema is not None and schema.is_mutable for schema in schemas)
