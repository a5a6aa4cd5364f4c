"""`torch.compile(model, backend="relax_mlir")`: graphs that PyTorch captures, compiled here.

PyTorch finds the backend by its entry point.  A graph arrives as ATen operators without mutation
(AOTAutograd), with the weights among its inputs.  Where no gradient is asked for, weights are bound
as constants, so that they are folded and packed once; a weight that has changed since is noticed
at the next call, which then takes a version that gets its weights as arguments.  With gradients the
forward and the backward graph are compiled one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from relax_mlir.errors import Error
from relax_mlir.relax.frontend.torch.exported_program import ExportedProgramImporter

if TYPE_CHECKING:
    import torch

    from relax_mlir.ir import IRModule
    from relax_mlir.ir.function import BaseFunc, GlobalVar

__all__ = ["dynamo_capture_subgraphs", "relax_dynamo", "relax_mlir_backend"]

Call = Callable[..., Any]


def relax_dynamo(pipeline: Any = "default", target: Any = None) -> Call:
    """A backend for `torch.compile` that compiles with this pipeline for this target.

    TVM's name.  Raises Error for graphs on other devices than the CPU, UnsupportedOperatorError
    for operators without a converter.
    """

    def compile_module(module: IRModule) -> Call:
        import relax_mlir
        from relax_mlir import relax

        executable = relax_mlir.compile(module, target, relax_pipeline=pipeline)
        return relax.VirtualMachine(executable, relax_mlir.cpu())["main"]

    def backend(graph_module: Any, example_inputs: Sequence[Any]) -> Call:
        return _aot(graph_module, example_inputs, compile_module)

    return backend


def relax_mlir_backend(graph_module: Any, example_inputs: Sequence[Any], **_: Any) -> Call:
    """What `torch.compile(..., backend="relax_mlir")` calls for every captured graph."""
    return relax_dynamo()(graph_module, example_inputs)


def dynamo_capture_subgraphs(model: Any, *params: Any, **kwargs: Any) -> IRModule:
    """The graphs that `torch.compile` captures of a model called with `params`, as the functions
    `subgraph_0`, `subgraph_1`, ... of one module.

    `keep_params_as_input` is accepted for compatibility: weights are parameters.
    """
    import torch
    from torch._subclasses.fake_tensor import unset_fake_temporarily

    from relax_mlir.ir import IRModule

    kwargs.pop("keep_params_as_input", None)
    captured: dict[GlobalVar | str, BaseFunc] = {}

    def keep(module: IRModule) -> None:
        captured[f"subgraph_{len(captured)}"] = module["main"]

    def backend(graph_module: Any, example_inputs: Sequence[Any]) -> Call:
        def forward(aten: Any, _: Any) -> Call:
            with unset_fake_temporarily():
                keep(_AtenImporter(aten, {}).run(False, False, False))
            return _boxed(aten.forward)

        return _autograd(forward, forward, trains=False)(graph_module, example_inputs)

    torch.compiler.reset()
    with torch.no_grad():
        torch.compile(model, backend=backend)(*params, **kwargs)
    return IRModule(captured)


# -- compiling a graph ----------------------------------------------------------------------------


def _aot(graph_module: Any, inputs: Sequence[Any], compile_module: Call) -> Call:
    import torch

    trains = torch.is_grad_enabled() and any(
        isinstance(x, torch.Tensor) and x.requires_grad for x in inputs
    )
    weights = {} if trains else _weights(inputs)

    def forward(aten: Any, examples: Sequence[Any]) -> Call:
        bound = weights if len(examples) == len(inputs) else {}
        return _boxed(_Compiled(aten, bound, compile_module))

    def backward(aten: Any, _: Sequence[Any]) -> Call:
        return _boxed(_Compiled(aten, {}, compile_module))

    return _autograd(forward, backward, trains)(graph_module, inputs)


def _weights(inputs: Sequence[Any]) -> dict[int, Any]:
    import torch

    return {i: x for i, x in enumerate(inputs) if isinstance(x, torch.nn.Parameter)}


def _autograd(forward: Call, backward: Call, trains: bool) -> Call:
    from torch._dynamo.backends.common import aot_autograd

    return aot_autograd(
        fw_compiler=forward,
        bw_compiler=backward,
        inference_compiler=forward,
        decompositions=_training_decompositions() if trains else {},
    )


def _training_decompositions() -> Mapping[Any, Call]:
    """Gradients, and what layers keep for them, in operators that have converters."""
    import torch
    from torch._decomp import core_aten_decompositions, get_decompositions

    aten = torch.ops.aten
    norms = (aten.native_layer_norm, aten.native_group_norm, aten._native_batch_norm_legit)
    return {**core_aten_decompositions(), **get_decompositions(norms)}


def _boxed(function: Call) -> Call:
    from torch._functorch._aot_autograd.utils import make_boxed_func

    return make_boxed_func(function)


class _Compiled:
    """A compiled graph: `weights` are the inputs, by position, that are constants of it."""

    def __init__(self, aten: Any, weights: Mapping[int, Any], compile_module: Call) -> None:
        self.aten = aten
        self.compile_module = compile_module
        self._bind(weights)

    def _bind(self, weights: Mapping[int, Any]) -> None:
        from torch._subclasses.fake_tensor import unset_fake_temporarily

        importer = _AtenImporter(self.aten, weights)
        self.weights = dict(weights)
        self.versions = {i: weight._version for i, weight in weights.items()}
        with unset_fake_temporarily():  # the graph is traced with stand-ins, the weights are none
            self.main = self.compile_module(importer.run(False, False, False))
        self.passed = importer.passed
        self.returned = importer.returned

    def __call__(self, *inputs: Any) -> list[Any]:
        import torch

        if any(
            inputs[i] is not weight or weight._version != self.versions[i]
            for i, weight in self.weights.items()
        ):
            self._bind({})
        results = iter(self.main(*(_argument(inputs[i]) for i in self.passed)))
        return [
            (torch.from_dlpack(value) if hasattr(value := next(results), "shape") else value)
            if there
            else None
            for there in self.returned
        ]


def _argument(value: Any) -> Any:
    import torch

    if not isinstance(value, torch.Tensor):
        return int(value)
    return value.detach().contiguous()


class _AtenImporter(ExportedProgramImporter):
    """Imports an ATen graph whose inputs, weights among them, are its placeholders.

    After `run`, `passed` are the positions of the inputs that the function takes, and `returned`
    says of each output whether there is one.
    """

    def __init__(self, graph_module: Any, weights: Mapping[int, Any]) -> None:
        program = SimpleNamespace(graph=graph_module.graph, graph_module=graph_module)
        super().__init__(program, None)
        self.weights = weights
        self.passed: list[int] = []
        (output,) = (n for n in graph_module.graph.nodes if n.op == "output")
        self.returned = [value is not None for value in output.args[0]]

    def _parameters(self, keep_params: bool) -> tuple[list[Any], list[Any]]:
        self.values = []
        placeholders = [n for n in self.program.graph.nodes if n.op == "placeholder"]
        inputs: list[Any] = []
        for position, node in enumerate(placeholders):
            value = node.meta["val"]
            if position in self.weights:
                self.env[node] = self.constant(self.weights[position])
                continue
            if hasattr(value, "shape"):
                _require_cpu(node.name, value)
                self.env[node] = parameter = self.variable(node)
            else:
                self.env[node] = size = self._dimension(value)
                if isinstance(size, int):
                    continue
                info = self.relax.PrimStructInfo(value=size)
                parameter = self.relax.Var(node.name, info)
            self.passed.append(position)
            inputs.append(parameter)
        return inputs, []


def _require_cpu(name: str, tensor: torch.Tensor) -> None:
    if tensor.device.type != "cpu":
        raise Error(
            f"input '{name}' is on {tensor.device}: the backend relax_mlir compiles for the CPU",
            hint="move the model and its inputs by .to('cpu')",
        )
