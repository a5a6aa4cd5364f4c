"""One network in other forms, all in turns in one process: of sizes that our compiler is not told,
with weights as arguments, in bfloat16 and in bytes.

PyTorch runs with channels last; ONNX Runtime's bytes are those of its own quantizer (`QDQ`,
unsigned data, signed weights with a scale an output), which ours imports.
"""

from __future__ import annotations

import copy
import os
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import relax_mlir
from benchmarks.report import duration
from benchmarks.suite_cnn import make
from benchmarks.timing import OURS, interleaved
from relax_mlir import relax
from relax_mlir.relax.frontend import detach_params
from relax_mlir.relax.frontend.onnx import from_onnx
from relax_mlir.relax.frontend.torch import from_exported_program

NETWORK = "ResNet-18"
_SLOT = 0.02
Call = Callable[[], Any]


def run(rounds: int) -> None:
    """Print the table."""
    torch.set_num_threads(1)
    problem = make(NETWORK)
    network, image = problem.module, problem.inputs[0]
    rows = {
        "as it is": _exported(network, image),
        "any batch": _exported(network, image, {0: torch.export.Dim("n", max=64)}),
        "any image": _exported(network, image, {2: _AUTO, 3: _AUTO}),
        "weights as arguments": _with_arguments(network, image, prepared=False),
        "weights as arguments, prepared": _with_arguments(network, image, prepared=True),
        "bfloat16": _exported(copy.deepcopy(network).bfloat16(), image.bfloat16()),
        "bytes": _quantized(network, image),
    }
    peers = ("torch, channels last", "ONNX Runtime")
    print(f"| {NETWORK}, 1 thread | {' | '.join((OURS, *peers))} |")
    print("|---" * (len(peers) + 2) + "|")
    for name, calls in rows.items():
        times = interleaved(calls, rounds, _SLOT)
        cells = [
            f"{duration(times[n].median)}{_ratio(times[n].median / times[OURS].median, n)}"
            if n in times
            else "-"
            for n in (OURS, *peers)
        ]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


_AUTO = torch.export.Dim.AUTO


def _ratio(ratio: float, name: str) -> str:
    return "" if name == OURS else f" ({ratio:.2f}x)"


def _compiled(module: Any) -> Any:
    return relax.VirtualMachine(relax_mlir.compile(module, "llvm"), relax_mlir.cpu())


def _tensor(image: torch.Tensor) -> Any:
    if image.dtype == torch.bfloat16:
        import ml_dtypes

        return relax_mlir.runtime.tensor(image.view(torch.int16).numpy().view(ml_dtypes.bfloat16))
    return relax_mlir.runtime.tensor(image.numpy())


def _torch(network: torch.nn.Module, image: torch.Tensor) -> Call:
    last: Any = copy.deepcopy(network)
    last = last.to(memory_format=torch.channels_last)
    stored = image.to(memory_format=torch.channels_last)

    def call() -> Any:
        with torch.inference_mode():
            return last(stored)

    return call


def _session(path: str, image: torch.Tensor) -> Call:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: image.numpy()}
    return lambda: session.run(None, feed)


def _exported(
    network: torch.nn.Module, image: torch.Tensor, unknown: dict[int, Any] | None = None
) -> dict[str, Call]:
    """Through torch.export, the sizes of some axes not told."""
    example = image
    if unknown and 0 in unknown:  # one image would be taken for a size that is known
        example = torch.cat([image, image])
    dynamic = ({**unknown},) if unknown else None
    program = torch.export.export(network, (example,), dynamic_shapes=dynamic)
    main, data = _compiled(from_exported_program(program))["main"], _tensor(image)
    calls: dict[str, Call] = {OURS: lambda: main(data)}
    calls["torch, channels last"] = _torch(network, image)
    if image.dtype == torch.float32:
        with tempfile.TemporaryDirectory() as folder:
            calls["ONNX Runtime"] = _session(_onnx(network, image, folder, unknown), image)
    return calls


def _onnx(
    network: torch.nn.Module, image: torch.Tensor, folder: str, unknown: dict[int, Any] | None
) -> str:
    path = os.path.join(folder, "model.onnx")
    axes = {"x": {axis: f"size{axis}" for axis in unknown or {}}}
    torch.onnx.export(
        network, (image,), path, dynamo=False, opset_version=17, input_names=["x"],
        dynamic_axes=axes,
    )  # fmt: skip
    return path


def _with_arguments(
    network: torch.nn.Module, image: torch.Tensor, prepared: bool
) -> dict[str, Call]:
    """Weights are arguments of every call; `prepared`, what depends on them alone is computed once,
    after channels are last."""
    program = torch.export.export(network, (image,))
    module, params = detach_params(from_exported_program(program, keep_params_as_input=True))
    weights = [relax_mlir.runtime.tensor(np.asarray(p.numpy())) for p in params["main"]]
    if prepared:
        for step in (
            relax.transform.ConvertToDataflow(),
            relax.transform.ChooseLayout(),
            relax.transform.ConvolutionToMatmul(),
            relax.transform.LiftTransformParams(),
        ):
            module = step(module)
    machine, data = _compiled(module), _tensor(image)
    if prepared:
        weights = list(machine["main_transform_params"](weights))
    main = machine["main"]
    return {OURS: lambda: main(data, *weights)}


def _quantized(network: torch.nn.Module, image: torch.Tensor) -> dict[str, Call]:
    import onnx
    from onnxruntime import quantization

    class Images(quantization.CalibrationDataReader):
        def __init__(self) -> None:
            self.left = [image.numpy()]

        def get_next(self) -> Any:
            return {"x": self.left.pop()} if self.left else None

    with tempfile.TemporaryDirectory() as folder:
        path, made = _onnx(network, image, folder, None), os.path.join(folder, "bytes.onnx")
        quantization.quantize_static(
            path, made, Images(), per_channel=True, activation_type=quantization.QuantType.QUInt8
        )
        main = _compiled(from_onnx(onnx.load(made)))["main"]
        data = _tensor(image)
        return {OURS: lambda: main(data), "ONNX Runtime": _session(made, image)}
