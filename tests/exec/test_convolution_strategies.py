"""The convolution strategies against float64: shapes that meet every branch, and random ones."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax, tir
from relax_mlir.errors import PassError
from relax_mlir.lowering.linalg_to_vector.convolution import cost, forms
from relax_mlir.lowering.linalg_to_vector.convolution.forms import (
    ConvolutionShape,
    Form,
    forms_of,
)
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget
from relax_mlir.relax import op
from relax_mlir.topi.nn import bilinear
from relax_mlir.transform import PassContext
from tests.exec.convolution_cases import Case, arguments_of, check, module_of, reference

SAME3, SAME5 = (1, 1, 1, 1), (2, 2, 2, 2)

SHAPES = {
    "same": Case((14, 14), 16, 32, (3, 3), padding=SAME3, epilogue="brm"),
    "tail of channels": Case((9, 13), 5, 39, (3, 3), padding=SAME3, epilogue="b"),
    "few channels": Case((11, 9), 3, 7, (3, 3), padding=SAME3),
    "stem": Case((21, 22), 3, 32, (7, 7), (2, 2), (3, 3, 3, 3), epilogue="bm"),
    "one sided": Case((8, 9), 8, 16, (3, 2), padding=(0, 1, 2, 0)),
    "wide border": Case((3, 2), 4, 16, (3, 3), padding=(4, 5, 3, 4)),
    "stride 3": Case((17, 20), 8, 16, (3, 3), (3, 3), SAME3),
    "stride beyond the kernel": Case((17, 20), 8, 16, (2, 2), (3, 4)),
    "dilated": Case((19, 23), 8, 24, (3, 3), (2, 1), (2, 3, 2, 3), (2, 3), epilogue="m"),
    "pointwise with stride": Case((15, 14), 24, 40, (1, 1), (2, 2), epilogue="br"),
    "pointwise with border": Case((5, 6), 16, 16, (1, 1), padding=SAME3),
    "one position": Case((4, 4), 12, 20, (4, 4), epilogue="b"),
    "row of taps": Case((1, 40), 8, 16, (1, 9), padding=(0, 4, 0, 4)),
    "column of taps": Case((40, 1), 8, 16, (9, 1), padding=(4, 0, 4, 0)),
    "images": Case((7, 7), 16, 48, (3, 3), padding=SAME3, batch=3, epilogue="brm"),
    "large weight": Case((7, 7), 128, 200, (3, 3), padding=SAME3, epilogue="bm"),
    "depthwise": Case((14, 15), 40, 40, (3, 3), padding=SAME3, groups=40, epilogue="bm"),
    "depthwise, stride": Case((15, 14), 32, 32, (5, 5), (2, 2), SAME5, groups=32, batch=2),
    "depthwise, dilated": Case((16, 17), 9, 9, (3, 3), (1, 1), SAME5, (2, 2), groups=9),
    "depthwise, long": Case((30, 40), 16, 16, (7, 17), padding=(3, 8, 3, 8), groups=16),
    "depthwise, in parts": Case((9, 40), 70, 70, (5, 5), padding=SAME5, groups=70, batch=2),
    "depthwise, silu": Case((8, 8), 16, 16, (3, 3), padding=SAME3, groups=16, epilogue="bs"),
    "grouped": Case((9, 10), 24, 48, (3, 3), padding=SAME3, groups=4, epilogue="brm"),
    "narrow groups": Case((9, 17), 64, 64, (3, 3), padding=SAME3, groups=16, epilogue="brm"),
    "narrow groups, tail": Case((8, 9), 35, 21, (3, 2), (2, 1), SAME3, groups=7, epilogue="bs"),
    "narrow groups, two": Case((8, 9), 16, 4, (3, 3), padding=SAME3, groups=2, batch=2),
    "narrow groups, long": Case((1, 60), 12, 24, (1, 17), padding=(0, 8, 0, 8), groups=3),
    "narrow groups, wide": Case((7, 8), 48, 12, (3, 3), (1, 1), SAME5, (2, 2), groups=4),
    "narrow groups, pointwise": Case((6, 7), 32, 64, (1, 1), groups=16, epilogue="bm"),
    "grouped, pointwise": Case((6, 7), 24, 48, (1, 1), groups=3, epilogue="b"),
    "multiplier": Case((9, 10), 8, 16, (3, 3), padding=SAME3, groups=8),
    "multiplier, not a power of two": Case((9, 10), 7, 21, (3, 3), (2, 2), SAME3, groups=7),
    "1-d": Case((33,), 6, 20, (5,), (2,), (2, 2), (1,), epilogue="bm"),
    "1-d, depthwise": Case((33,), 32, 32, (4,), (1,), (3, 0), (1,), groups=32),
    "3-d": Case((5, 6, 7), 4, 16, (3, 3, 3), (1, 2, 1), (1,) * 6, (1, 1, 1), epilogue="b"),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name: str) -> None:
    check(SHAPES[name])


def random_case(seed: int) -> Case:
    """A convolution that exists, of any shape."""
    pick = random.Random(seed)
    groups = pick.choice([1, 1, 1, 2, 4])
    depthwise = pick.random() < 0.25
    if depthwise:
        channels = outputs = groups = pick.randint(1, 40)
    else:
        channels, outputs = groups * pick.randint(1, 20), groups * pick.randint(1, 40)
    kernel = (pick.randint(1, 5), pick.randint(1, 5))
    dilation = (pick.randint(1, 2), pick.randint(1, 3))
    padding = tuple(pick.randint(0, 3) for _ in range(4))
    least = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    sizes = tuple(
        max(1, least[i] - padding[i] - padding[2 + i]) + pick.randint(0, 14) for i in range(2)
    )
    return Case(
        sizes, channels, outputs, kernel, (pick.randint(1, 3), pick.randint(1, 3)), padding,
        dilation, groups, pick.randint(1, 2), pick.choice(["", "b", "bm", "brm", "rs", "bs"]),
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(16))
def test_random_shapes(seed: int) -> None:
    check(random_case(seed), seed)


@pytest.mark.parametrize(
    "name", ["same", "large weight", "depthwise", "images", "1-d", "narrow groups, tail"]
)
def test_two_threads(name: str) -> None:
    check(SHAPES[name], target="llvm -num-cores=2")


CONSTANT = {
    "four outputs": Case((17, 22), 24, 64, (3, 3), padding=SAME3, epilogue="brm"),
    "two outputs": Case((9, 8), 40, 48, (3, 3), padding=(0, 1, 1, 0), epilogue="bs"),
    "no border": Case((18, 18), 16, 32, (3, 3)),
    "tail of channels": Case((13, 14), 21, 39, (3, 3), padding=SAME3, epilogue="b"),
    "images": Case((14, 14), 32, 32, (3, 3), padding=SAME3, batch=3, epilogue="m"),
    "stride 2": Case((19, 23), 40, 64, (3, 3), (2, 2), SAME3, epilogue="bm"),
    "five taps": Case((16, 19), 24, 32, (5, 5), padding=SAME5, epilogue="b"),
    "unequal taps": Case((16, 19), 24, 32, (3, 5), padding=(1, 2, 1, 2)),
    "panels": Case((9, 10), 40, 96, (3, 3), (2, 1), SAME3, epilogue="brm"),
    "panels, dilated": Case((12, 14), 64, 64, (3, 3), (1, 1), SAME5, (2, 2), epilogue="b"),
    "single tile": Case((4, 3), 64, 64, (3, 3), padding=SAME3),
    "wide groups": Case((14, 13), 48, 96, (3, 3), padding=(1, 0, 2, 1), groups=2, epilogue="brm"),
    "wide groups, five taps": Case((9, 8), 48, 96, (5, 5), padding=SAME5, groups=3, batch=2),
}


@pytest.mark.parametrize("name", CONSTANT)
def test_constant_weights(name: str) -> None:
    check(CONSTANT[name], constant=True)


@pytest.mark.parametrize("seed", range(100, 108))
def test_random_constant_weights(seed: int) -> None:
    pick = random.Random(seed)
    kernel, stride = pick.choice([(3, 3), (2, 3), (5, 4), (3, 7)]), pick.choice([1, 2])
    padding = tuple(pick.randint(0, 3) for _ in range(4))
    sizes = (pick.randint(9, 30), pick.randint(9, 30))
    channels, outputs = pick.randint(8, 40), pick.choice([16, 24, 32, 64, 100])
    epilogue = pick.choice(["", "bm", "brm"])
    batch = pick.randint(1, 2)
    case = Case(sizes, channels, outputs, kernel, (stride, stride), padding, (1, 1), 1, batch,
                epilogue)  # fmt: skip
    check(case, seed, constant=True)


IN_CALL = {
    "panels": (Case((14, 14), 32, 64, (3, 3), padding=SAME3, epilogue="brm"), 32),
    "one vector": (Case((9, 11), 40, 48, (3, 3), padding=(0, 1, 1, 0), epilogue="bs"), 16),
    "single panel": (Case((13, 8), 20, 32, (3, 3), padding=SAME3), 32),
    "as it is": (Case((13, 14), 21, 39, (3, 3), padding=SAME3, epilogue="b"), 0),
    "many tiles": (Case((30, 29), 70, 64, (3, 3), padding=SAME3, epilogue="bm"), 32),
    "stride 2": (Case((19, 23), 40, 64, (3, 3), (2, 2), SAME3, epilogue="bm"), 32),
    "images": (Case((14, 14), 32, 32, (3, 3), padding=SAME3, batch=3, epilogue="m"), 16),
    "unequal taps": (Case((16, 19), 24, 32, (3, 5), padding=(1, 2, 1, 2)), 0),
    "few tiles": (Case((7, 7), 40, 64, (3, 3), padding=SAME3, epilogue="brm"), 16),
    "few tiles as they are": (Case((7, 6), 21, 39, (3, 3), padding=SAME3, epilogue="b"), 0),
    "few tiles by 2": (Case((13, 14), 70, 32, (3, 3), (2, 2), SAME3, batch=2, epilogue="m"), 16),
    "few tiles in a line": (Case((5, 31), 35, 32, (3, 3), padding=SAME3), 16),
    "few channels": (Case((12, 12), 3, 20, (3, 3), padding=SAME3, epilogue="b"), 0),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", IN_CALL)
def test_weights_transformed_in_the_call(
    monkeypatch: pytest.MonkeyPatch, name: str, threads: int
) -> None:
    """Every layout of the weight, whatever the cost model would choose."""
    case, panel = IN_CALL[name]
    stride = case.strides[0]
    rows, columns = (
        bilinear(2 if taps > 3 else 4, taps, stride, in_call=True) for taps in case.kernel
    )
    form = Form(panel, 0.0, rows, columns, in_call=True)
    monkeypatch.setattr(forms, "forms_of", lambda *_args, **_options: [form])
    check(case, constant=True, target=f"llvm -num-cores={threads}", tolerance=1e-5)


ONE_AXIS = {
    "stem": (Case((21, 22), 3, 32, (7, 7), (2, 2), (3, 3, 3, 3), epilogue="bm"), 1, 4, 1, 32),
    "row": (Case((9, 17), 40, 48, (1, 7), padding=(0, 3, 0, 3), epilogue="brm"), 1, 4, 2, 16),
    "column": (Case((17, 9), 40, 48, (7, 1), padding=(3, 0, 3, 0), epilogue="bs"), 0, 4, 2, 48),
    "line": (Case((1, 50), 20, 39, (1, 3), padding=(0, 1, 0, 1)), 1, 4, 1, 0),
    "no border": (Case((12, 13), 8, 16, (4, 3), (2, 1), epilogue="b"), 1, 3, 1, 0),
    "wide border": (Case((5, 6), 4, 16, (3, 3), (3, 1), (4, 5, 3, 4)), 1, 2, 1, 16),
    "images": (Case((14, 11), 24, 32, (3, 5), padding=(1, 2, 1, 2), batch=3), 0, 2, 1, 32),
    "stride beyond the taps": (Case((11, 30), 16, 20, (1, 5), (2, 2), (0, 2, 0, 2)), 1, 3, 1, 0),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", ONE_AXIS)
def test_winograd_along_one_axis(monkeypatch: pytest.MonkeyPatch, name: str, threads: int) -> None:
    """Every layout of the data and of the weight, whatever the cost model would choose."""
    case, axis, output, runs, panel = ONE_AXIS[name]
    algorithm = bilinear(output, case.kernel[axis], case.strides[axis], runs)
    form = Form(panel, 0.0, None if axis else algorithm, algorithm if axis else None)
    monkeypatch.setattr(forms, "forms_of", lambda *_args, **_options: [form])
    assert _functions(case) == {"conv2d_winograd_1d"}
    check(case, constant=True, target=f"llvm -num-cores={threads}", tolerance=1e-5)


def _random_along_one_axis(seed: int) -> tuple[Case, Form]:
    """A convolution of any shape, and an algorithm for one of its axes."""
    pick = random.Random(seed)
    axis, stride, output = pick.randint(0, 1), pick.choice([1, 1, 2]), pick.choice([2, 3, 4])
    taps = pick.randint(stride + 1, 9)
    runs = next(n for n in (1, 2, 3, 4, 5) if output + -(-taps // (stride * n)) - 1 <= 7)
    kernel, strides = [pick.choice([1, 1, 2, 3, 7])] * 2, [pick.choice([1, 1, 2, 3])] * 2
    kernel[axis], strides[axis] = taps, stride
    padding = tuple(pick.randint(0, 4) for _ in range(4))
    sizes = [max(1, k - padding[i] - padding[2 + i]) for i, k in enumerate(kernel)]
    sizes[axis] += stride * output + pick.randint(0, 20)
    sizes[1 - axis] += pick.randint(0, 9)
    channels, outputs = pick.choice([1, 3, 5, 16, 33]), pick.choice([7, 16, 32, 40, 64])
    case = Case(
        (sizes[0], sizes[1]),
        channels,
        outputs,
        (kernel[0], kernel[1]),
        (strides[0], strides[1]),
        padding,
        batch=pick.randint(1, 2),
        epilogue=pick.choice(["", "bm", "brm", "rs"]),
    )
    panel = pick.choice([0] + [width for width in (16, 32, 64) if outputs % width == 0])
    algorithm = bilinear(output, taps, stride, runs)
    form = Form(panel, 0.0, None if axis else algorithm, algorithm if axis else None)
    return case, form


@pytest.mark.parametrize("seed", range(10))
def test_random_shapes_along_one_axis(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    case, form = _random_along_one_axis(seed)
    monkeypatch.setattr(forms, "forms_of", lambda *_args, **_options: [form])
    check(case, seed, constant=True, target=f"llvm -num-cores={1 + seed % 2}", tolerance=1e-5)


LINES = {
    "no panel": (Case((50,), 20, 39, (3,), (1,), (1, 1), (1,), epilogue="b"), 4, 1, 0),
    "stride": (Case((61,), 16, 32, (5,), (2,), (2, 2), (1,), batch=2, epilogue="brm"), 3, 1, 32),
    "runs": (Case((61,), 16, 32, (7,), (1,), (3, 0), (1,), epilogue="s"), 4, 2, 16),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", LINES)
def test_winograd_of_lines(monkeypatch: pytest.MonkeyPatch, name: str, threads: int) -> None:
    case, output, runs, panel = LINES[name]
    form = Form(panel, 0.0, None, bilinear(output, case.kernel[0], case.strides[0], runs))
    monkeypatch.setattr(forms, "forms_of", lambda *_args, **_options: [form])
    assert _functions(case) == {"conv1d_winograd"}
    check(case, constant=True, target=f"llvm -num-cores={threads}", tolerance=1e-5)


def test_lines_that_the_cost_model_leaves_alone() -> None:
    """Where no algorithm pays or none is known, and for weights that are arguments."""
    long = Case((400,), 32, 48, (3,), (1,), (1, 1), (1,))
    assert _functions(long) == {"conv1d_winograd"}
    assert not _functions(long, constant=False)
    for case in (
        Case((400,), 32, 48, (3,), (3,), (1, 1), (1,)),
        Case((400,), 32, 48, (3,), (1,), (2, 2), (2,)),
        Case((400,), 1, 48, (3,), (1,), (1, 1), (1,)),
    ):
        assert not _functions(case)
        check(case, constant=True)


@pytest.mark.parametrize(
    "case",
    [
        Case((80, 64), 3, 64, (7, 7), (2, 2), (3, 3, 3, 3), epilogue="bm"),
        Case((1, 1200), 32, 48, (1, 3), padding=(0, 1, 0, 1), epilogue="bm"),
    ],
)
def test_chunks_of_one_axis_on_two_threads(monkeypatch: pytest.MonkeyPatch, case: Case) -> None:
    """Chunks of rows or, where there is one row, of tiles, which do not divide the image."""
    monkeypatch.setattr(cost, "_WINOGRAD_CHUNK", 0.05)
    monkeypatch.setattr(cost, "_LARGEST_CHUNK", 0.05)
    assert _functions(case) == {"conv2d_winograd_1d"}
    for threads in (1, 2):
        check(case, constant=True, target=f"llvm -num-cores={threads}", tolerance=1e-5)


@pytest.mark.parametrize(("size", "channels"), [(14, 40), (30, 24)])
def test_weights_that_are_arguments(size: int, channels: int) -> None:
    case = Case((size, size), channels, 40, (3, 3), padding=SAME3, epilogue="bm")
    assert _functions(case, constant=False) == {"conv2d_winograd"}
    check(case)


@pytest.mark.parametrize(("size", "channels"), [(56, 64), (12, 128)])
def test_winograd_on_two_threads(size: int, channels: int) -> None:
    """Cores share the rows of tiles, or, where all tiles go together, each step."""
    case = Case((size, size), channels, 64, (3, 3), padding=SAME3, epilogue="brm")
    check(case, constant=True, target="llvm -num-cores=2")


def _functions(case: Case, *, constant: bool = True, **config: str) -> set[str]:
    """The names of the functions that a convolution becomes."""
    arguments, _ = arguments_of(case, 0)
    module = module_of(case, arguments[1] if constant else None)
    with PassContext(config={key.replace("_", "-"): value for key, value in config.items()}):
        transformed = relax.transform.TransformConvolutionWeights()(module)
    return {variable.name_hint for variable in transformed.get_global_vars()} - {"main"}


def test_accuracy_setting() -> None:
    case = Case((28, 28), 64, 64, (3, 3), padding=SAME3)
    assert _functions(case) == {"conv2d_winograd"}
    exact = relax.transform.TransformConvolutionWeights("exact")(module_of(case, _weight(case)))
    by_config = _functions(case, convolution_accuracy="exact")
    assert by_config == {"conv2d_winograd"}
    # Tiles of two outputs have four products along an axis, those of four have six.
    assert "bgemm = T.alloc_buffer((4, 4, " in exact.script()
    fast = relax.transform.TransformConvolutionWeights()(module_of(case, _weight(case)))
    assert "bgemm = T.alloc_buffer((6, 6, " in fast.script()
    with pytest.raises(
        PassError, match="convolution-accuracy is 'fine', expected default or exact"
    ):
        relax.transform.TransformConvolutionWeights("fine")(module_of(case, _weight(case)))


def _weight(case: Case) -> np.ndarray:
    return arguments_of(case, 0)[0][1]


@pytest.mark.parametrize(("kernel", "stride", "limit"), [(3, 1, 4e-6), (3, 2, 3e-6), (5, 1, 2e-5)])
def test_errors_of_winograd(kernel: int, stride: int, limit: float) -> None:
    """Relative to the largest output; the limits are about three times what is measured."""
    side = kernel // 2
    case = Case((40, 40), 64, 128, (kernel, kernel), (stride, stride), (side,) * 4)
    assert _functions(case) == {"conv2d_winograd"}
    check(case, constant=True, tolerance=limit)


@pytest.mark.parametrize(("channels", "outputs", "groups"), [(12, 40, 1), (12, 40, 4), (40, 96, 1)])
def test_images_of_any_size(channels: int, outputs: int, groups: int) -> None:
    """Batch and image sizes that are symbols: the same code for all; a large weight is in
    panels."""
    n, h, w = (tir.Var(name, "int64") for name in "nhw")
    data = relax.Var("x", relax.TensorStructInfo([n, h, w, channels], "float32"))
    random_ = np.random.default_rng(0)
    shape = (3, 3, channels // groups, outputs)
    weight = (random_.standard_normal(shape) / 20).astype(np.float32)
    builder = relax.BlockBuilder()
    with builder.function("main", [data]):
        with builder.dataflow():
            value = builder.emit(
                op.nn.conv2d(
                    data, relax.const(weight), strides=[2, 1], padding=[1, 1, 1, 1],
                    groups=groups, data_layout="NHWC", kernel_layout="HWIO",
                )
            )  # fmt: skip
            result = builder.emit_output(builder.emit(op.nn.relu(value)))
        builder.emit_func_output(result)
    module = relax.transform.TransformConvolutionWeights()(builder.get())
    names = {variable.name_hint for variable in module.get_global_vars()} - {"main"}
    assert names == ({"conv2d_panels"} if channels == 40 else set())
    executable = relax_mlir.compile(module, "llvm")
    main = relax.VirtualMachine(executable, relax_mlir.cpu())["main"]
    sizes = [(1, 9, 23), (2, 1, 1), (3, 2, 17), (1, 12, 8), (1, 3, 5), (1, 4, 6), (1, 1, 15)]
    for batch, height, width in sizes:
        x = random_.standard_normal((batch, height, width, channels)).astype(np.float32)
        case = Case(
            (height, width), channels, outputs, (3, 3), (2, 1), SAME3, groups=groups, batch=batch
        )
        expected = np.maximum(reference(case, x, weight), 0)
        np.testing.assert_allclose(main(x).numpy(), expected, atol=1e-5)


ANY_SIZE = {
    "panels": Case((56, 56), 40, 64, (3, 3), padding=SAME3, epilogue="bm"),
    "no panels": Case((56, 56), 20, 39, (3, 3), padding=(0, 2, 1, 0)),
    "long sums": Case((14, 14), 150, 48, (3, 3), epilogue="b"),
    "unequal taps": Case((28, 28), 70, 32, (3, 2), padding=(1, 0, 1, 1), epilogue="m"),
    "a known width": Case((28, 30), 70, 32, (3, 3), padding=SAME3),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", ANY_SIZE)
def test_winograd_of_any_size(name: str, threads: int) -> None:
    """One program for images of fewer tiles than a register tile has to several chunks of them."""
    case = ANY_SIZE[name]
    n, h, w = (tir.Var(letter, "int64") for letter in "nhw")
    width = case.sizes[1] if name == "a known width" else w
    data = relax.Var("x", relax.TensorStructInfo([n, h, width, case.channels], "float32"))
    weight = _weight(case)
    bias = np.random.default_rng(1).standard_normal((1, 1, 1, case.outputs)).astype(np.float32)
    builder = relax.BlockBuilder()
    with builder.function("main", [data]):
        with builder.dataflow():
            value = op.nn.conv2d(
                data, relax.const(weight), padding=list(case.padding), data_layout="NHWC",
                kernel_layout="HWIO",
            )  # fmt: skip
            if "b" in case.epilogue:
                value = op.add(builder.emit(value), relax.const(bias))
            if "m" in case.epilogue:
                value = op.nn.relu(builder.emit(value))
            result = builder.emit_output(builder.emit(value))
        builder.emit_func_output(result)
    module = relax.transform.TransformConvolutionWeights()(builder.get())
    names = {variable.name_hint for variable in module.get_global_vars()}
    assert names == {"main", "conv2d_winograd"}
    executable = relax_mlir.compile(builder.get(), f"llvm -num-cores={threads}")
    main = relax.VirtualMachine(executable, relax_mlir.cpu())["main"]
    for batch, *size in [(1, 56, 50), (2, 7, 9), (3, 4, 3), (1, 13, 70), (0, 8, 8), (1, 3, 17)]:
        size[1] = size[1] if width is w else case.sizes[1]
        now = replace(case, batch=batch, sizes=tuple(size))
        x = arguments_of(now, batch)[0][0]
        expected = reference(now, x, weight) + ("b" in case.epilogue) * bias
        if "m" in case.epilogue:
            expected = np.maximum(expected, 0)
        np.testing.assert_allclose(main(x).numpy(), expected, atol=2e-5)


@pytest.mark.parametrize("name", ["four outputs", "stride 2"])
@pytest.mark.parametrize("threads", [1, 2])
def test_batches_of_any_size(name: str, threads: int) -> None:
    """As many images as there are, by Winograd's algorithms."""
    case = CONSTANT[name]
    arguments, _ = arguments_of(case, 0)
    batch = tir.Var("n", "int64")
    shape = [batch, *case.sizes, case.channels]
    data = relax.Var("x", relax.TensorStructInfo(shape, "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [data]):
        with builder.dataflow():
            value = op.nn.conv2d(
                data, relax.const(arguments[1]), strides=list(case.strides),
                padding=list(case.padding), data_layout="NHWC", kernel_layout="HWIO",
            )  # fmt: skip
            result = builder.emit_output(builder.emit(value))
        builder.emit_func_output(result)
    executable = relax_mlir.compile(builder.get(), f"llvm -num-cores={threads}")
    main = relax.VirtualMachine(executable, relax_mlir.cpu())["main"]
    for images in (1, 3, 0):
        now = replace(case, batch=images, epilogue="")
        x = arguments_of(now, images)[0][0]
        expected = reference(now, x, arguments[1])
        np.testing.assert_allclose(main(x).numpy(), expected, atol=2e-5)


def test_accuracy_of_a_target(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def asked_forms(
        shape: ConvolutionShape, target: CPUTarget, accuracy: str, *, constant: bool
    ) -> list[Form]:
        asked.append(accuracy)
        return forms_of(shape, target, accuracy, constant=constant)

    monkeypatch.setattr(forms, "forms_of", asked_forms)
    case = Case((9, 9), 40, 64, (3, 3), padding=SAME3, epilogue="m")
    monkeypatch.setenv("RELAX_MLIR_CACHE", "off")
    check(case, constant=True, target="llvm -convolution-accuracy=exact")
    check(case, constant=True)
    assert asked == ["exact", "default"]


def _relative_error(got: np.ndarray, expected: np.ndarray) -> float:
    """Root mean square, over that of what is expected."""
    return float(np.sqrt(np.mean((got - expected) ** 2) / np.mean(expected**2)))


@pytest.mark.parametrize(
    ("channels", "strides", "name", "limit"),
    [
        (64, (1, 1), "conv2d_winograd", 5.5e-7),
        (512, (1, 1), "conv2d_winograd", 9e-7),
        (512, (3, 3), "conv2d_panels", 2.7e-7),
    ],
)
def test_errors_grow_little_with_the_channels(
    channels: int, strides: tuple[int, int], name: str, limit: float
) -> None:
    """Long sums are made of blocks; in one piece, errors are 1.1 to 2.2 times the limits."""
    case = Case((24, 24), channels, 64, (3, 3), strides, SAME3)
    assert _functions(case) == {name}
    arguments, expected = arguments_of(case, 0)
    arguments[0] = np.maximum(arguments[0], 0)
    expected = reference(case, *arguments[:2])
    executable = relax_mlir.compile(module_of(case, arguments[1]), "llvm")
    got = relax.VirtualMachine(executable, relax_mlir.cpu())["main"](arguments[0]).numpy()
    assert _relative_error(got, expected) < limit


def test_errors_of_a_row_times_a_matrix() -> None:
    """A linear layer of 8192 inputs that is swept row by row."""
    random_ = np.random.default_rng(0)
    row = np.maximum(random_.standard_normal((1, 8192)), 0).astype(np.float32)
    matrix = random_.standard_normal((8192, 256)).astype(np.float32)
    x = relax.Var("x", relax.TensorStructInfo(row.shape, "float32"))
    w = relax.Var("w", relax.TensorStructInfo(matrix.shape, "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, w]):
        with builder.dataflow():
            result = builder.emit_output(op.matmul(x, w))
        builder.emit_func_output(result)
    executable = relax_mlir.compile(builder.get(), "llvm")
    got = relax.VirtualMachine(executable, relax_mlir.cpu())["main"](row, matrix).numpy()
    assert _relative_error(got, row.astype(np.float64) @ matrix) < 3e-7
