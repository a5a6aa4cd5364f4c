"""One class a contestant: how it takes a PyTorch function, compiles it and is called.

`Runner.prepare` returns a call without arguments, on inputs that lie in the contestant's own
tensors already; what it returns `Runner.arrays` turns into numpy arrays.
"""

from __future__ import annotations

import contextlib
import copy
import importlib.util
import io
import os
import tempfile
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.problems import Problem, as_array, tensors_of
from benchmarks.timing import OURS

Call = Callable[[], Any]


class Unsuitable(Exception):
    """The contestant cannot run the problem; the message says why."""


class Runner(ABC):
    """A contestant.  `packages` have to be installed for it."""

    name = ""
    packages: Sequence[str] = ()

    def __init__(self, threads: int):
        self.threads = threads

    def missing(self) -> str:
        """The package that is not installed, or nothing."""
        return next((p for p in self.packages if importlib.util.find_spec(p) is None), "")

    @abstractmethod
    def prepare(self, problem: Problem) -> Call:
        """Compile the problem; the result computes it once a call."""

    def arrays(self, result: Any) -> list[np.ndarray]:
        return [np.asarray(x) for x in (result if isinstance(result, (list, tuple)) else [result])]


class Ours(Runner):
    name = OURS

    def prepare(self, problem: Problem) -> Call:
        import torch

        import relax_mlir
        from relax_mlir import relax
        from relax_mlir.relax.frontend.torch import from_exported_program

        program = torch.export.export(
            problem.module, problem.inputs, dynamic_shapes=problem.dynamic
        )
        module = from_exported_program(program)
        target = relax_mlir.target.Target({"kind": "llvm", "num-cores": self.threads})
        executable = relax_mlir.compile(module, target=target)
        main = relax.VirtualMachine(executable, relax_mlir.cpu())["main"]
        inputs = [relax_mlir.runtime.tensor(x) for x in problem.inputs]
        return lambda: main(*inputs)

    def arrays(self, result: Any) -> list[np.ndarray]:
        values = [result] if hasattr(result, "numpy") else result
        return [_plain(x.numpy()) for x in values]


def _plain(values: np.ndarray) -> np.ndarray:
    """bfloat16 is compared as float32."""
    return values.astype(np.float32) if values.dtype.name == "bfloat16" else values


class Numpy(Runner):
    name = "numpy"

    def prepare(self, problem: Problem) -> Call:
        if problem.numpy is None:
            raise Unsuitable("no numpy form")
        function, inputs = problem.numpy, [x.numpy() for x in problem.inputs]
        return lambda: function(*inputs)


class TorchEager(Runner):
    name = "torch"
    packages = ("torch",)

    def function(self, problem: Problem) -> Callable[..., Any]:
        return problem.module

    def inputs(self, problem: Problem) -> Sequence[Any]:
        return problem.stored_as("NCHW")

    def prepare(self, problem: Problem) -> Call:
        import torch

        torch.set_num_threads(self.threads)
        function, inputs = self.function(problem), self.inputs(problem)

        def call() -> Any:
            with torch.inference_mode():
                return function(*inputs)

        return call

    def arrays(self, result: Any) -> list[np.ndarray]:
        return [as_array(x) for x in tensors_of(result)]


class TorchChannelsLast(TorchEager):
    """Images and kernels with their channels last in memory."""

    name = "torch, channels last"

    def function(self, problem: Problem) -> Callable[..., Any]:
        import torch

        if len(problem.image) not in (4, 5):
            raise Unsuitable("no images")
        copied = copy.deepcopy(problem.module)
        if len(problem.image) == 5:
            return copied.to(memory_format=torch.channels_last_3d)
        return copied.to(memory_format=torch.channels_last)

    def inputs(self, problem: Problem) -> Sequence[Any]:
        return problem.stored_as("NHWC")


class TorchCompile(TorchEager):
    name = "torch.compile"

    def function(self, problem: Problem) -> Callable[..., Any]:
        import torch

        torch._dynamo.reset()
        return torch.compile(problem.module, dynamic=False)

    def prepare(self, problem: Problem) -> Call:
        call = super().prepare(problem)
        call()  # which compiles
        return call


def _write_onnx(problem: Problem, folder: str) -> str:
    import torch

    path = os.path.join(folder, "model.onnx")
    # The exporter prints the whole graph when it fails.
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        torch.onnx.export(problem.module, problem.inputs, path, dynamo=False, opset_version=18)
    return path


class OnnxRuntime(Runner):
    name = "ONNX Runtime"
    packages = ("onnxruntime", "onnx")

    def prepare(self, problem: Problem) -> Call:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        with tempfile.TemporaryDirectory() as folder:
            path = _write_onnx(problem, folder)
            session = onnxruntime.InferenceSession(
                path, options, providers=["CPUExecutionProvider"]
            )
        names = [value.name for value in session.get_inputs()]
        feed = dict(zip(names, (x.numpy() for x in problem.inputs), strict=True))
        return lambda: session.run(None, feed)


class OpenVINO(Runner):
    name = "OpenVINO"
    packages = ("openvino",)

    def prepare(self, problem: Problem) -> Call:
        import openvino
        import torch

        try:
            program = torch.export.export(problem.module, problem.inputs)
            return self._compiled(openvino, openvino.convert_model(program), problem)
        except Exception:  # its converter knows fewer operators than that of ONNX
            with tempfile.TemporaryDirectory() as folder:
                model = openvino.convert_model(_write_onnx(problem, folder))
                return self._compiled(openvino, model, problem)

    def _compiled(self, openvino: Any, model: Any, problem: Problem) -> Call:
        settings = {
            "INFERENCE_NUM_THREADS": self.threads,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32",
            "ENABLE_HYPER_THREADING": False,
        }
        compiled = openvino.Core().compile_model(model, "CPU", settings)
        request = compiled.create_infer_request()
        inputs = [np.ascontiguousarray(x.numpy()) for x in problem.inputs]
        return lambda: request.infer(inputs, share_inputs=True, share_outputs=True)

    def arrays(self, result: Any) -> list[np.ndarray]:
        return [np.array(value) for value in result.values()]


class TVM(Runner):
    name = "TVM 0.27"
    packages = ("tvm",)

    def prepare(self, problem: Problem) -> Call:
        import torch
        import tvm
        from tvm import relax
        from tvm.relax.frontend.torch import from_exported_program

        program = torch.export.export(problem.module, problem.inputs)
        module = from_exported_program(program, run_ep_decomposition=True)
        pipeline = relax.get_default_pipeline(tvm.target.Target("llvm"))
        executable = tvm.compile(module, "llvm", relax_pipeline=pipeline)
        main = relax.VirtualMachine(executable, tvm.cpu())["main"]
        inputs = [tvm.runtime.tensor(x.numpy()) for x in problem.inputs]
        return lambda: main(*inputs)

    def arrays(self, result: Any) -> list[np.ndarray]:
        return [x.numpy() for x in ([result] if hasattr(result, "numpy") else result)]


RUNNERS: dict[str, type[Runner]] = {
    runner.name: runner
    for runner in (
        Ours,
        Numpy,
        TorchEager,
        TorchChannelsLast,
        TorchCompile,
        OnnxRuntime,
        OpenVINO,
        TVM,
    )
}
