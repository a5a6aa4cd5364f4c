"""Convolutions by layout, blocks of pixels, deformable reads and the like, against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relax_mlir import te, topi
from relax_mlir.errors import Error
from relax_mlir.topi import nn

from .te_harness import check, run

torch = pytest.importorskip("torch")
F = torch.nn.functional
RNG = np.random.default_rng(11)


def draw(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("float32")


def by_torch(function: Callable[..., Any], *orders: tuple[int, ...]) -> Callable[..., np.ndarray]:
    """A torch function on operands permuted to its layout; the last order is the result's."""

    def reference(*arrays: np.ndarray) -> np.ndarray:
        moved = [torch.from_numpy(a).permute(*o) for a, o in zip(arrays, orders, strict=False)]
        return np.ascontiguousarray(function(*moved).permute(*orders[-1]).numpy())

    return reference


N1, N2 = (0, 1, 2), (0, 1, 2, 3)
CONVOLUTIONS = [
    ("conv1d_nwc", lambda x, w: nn.conv1d_nwc(x, w, 2, 1),
     by_torch(lambda x, w: F.conv1d(x, w, stride=2, padding=1), (0, 2, 1), (2, 1, 0), (0, 2, 1)),
     (2, 9, 4), (3, 4, 5)),
    ("group_conv1d_ncw", lambda x, w: nn.group_conv1d_ncw(x, w, 1, 0, 2, 2),
     by_torch(lambda x, w: F.conv1d(x, w, dilation=2, groups=2), N1, N1, N1), (2, 4, 9), (6, 2, 3)),
    ("group_conv1d_nwc", lambda x, w: nn.group_conv1d_nwc(x, w, 1, 1, 1, 2),
     by_torch(lambda x, w: F.conv1d(x, w, padding=1, groups=2), (0, 2, 1), (2, 1, 0), (0, 2, 1)),
     (2, 9, 4), (3, 2, 6)),
    ("conv2d_hwcn", lambda x, w: nn.conv2d_hwcn(x, w, 2, 1, 1),
     by_torch(lambda x, w: F.conv2d(x, w, stride=2, padding=1), (3, 2, 0, 1), (3, 2, 0, 1),
              (2, 3, 1, 0)), (7, 8, 3, 2), (3, 3, 3, 5)),
    ("group_conv2d_nhwc", lambda x, w: nn.group_conv2d_nhwc(x, w, 1, 1, 1, 2),
     by_torch(lambda x, w: F.conv2d(x, w, padding=1, groups=2), (0, 3, 1, 2), (3, 2, 0, 1),
              (0, 2, 3, 1)), (2, 5, 6, 4), (3, 3, 2, 6)),
    ("conv3d_ncdhw", lambda x, w: nn.conv3d_ncdhw(x, w, 1, 1, 1, 1),
     by_torch(lambda x, w: F.conv3d(x, w, padding=1), *[(0, 1, 2, 3, 4)] * 3),
     (1, 2, 4, 5, 6), (3, 2, 3, 3, 3)),
    ("conv3d_ndhwc", lambda x, w: nn.conv3d_ndhwc(x, w, 2, 0, 1, 1),
     by_torch(lambda x, w: F.conv3d(x, w, stride=2), (0, 4, 1, 2, 3), (4, 3, 0, 1, 2),
              (0, 2, 3, 4, 1)), (1, 4, 5, 6, 2), (2, 3, 3, 2, 4)),
    ("conv3d_transpose_ncdhw", lambda x, w: nn.conv3d_transpose_ncdhw(x, w, 2, 1, "float32", 1),
     by_torch(lambda x, w: F.conv_transpose3d(x, w, stride=2, padding=1, output_padding=1),
              *[(0, 1, 2, 3, 4)] * 3), (1, 2, 3, 2, 3), (2, 3, 3, 3, 3)),
    ("group_conv1d_transpose_ncw",
     lambda x, w: nn.group_conv1d_transpose_ncw(x, w, 2, 1, "float32", 0, 2),
     by_torch(lambda x, w: F.conv_transpose1d(x, w, stride=2, padding=1, groups=2), N1, N1, N1),
     (2, 4, 5), (4, 3, 3)),
    ("depthwise_conv2d_nchw", lambda x, w: nn.depthwise_conv2d_nchw(x, w, 1, 1, 1),
     lambda x, w: F.conv2d(torch.from_numpy(x), torch.from_numpy(w).reshape(6, 1, 3, 3), padding=1,
                           groups=3).numpy(), (2, 3, 5, 6), (3, 2, 3, 3)),
    ("depthwise_conv2d_nhwc", lambda x, w: nn.depthwise_conv2d_nhwc(x, w, 2, 1, 1),
     lambda x, w: F.conv2d(torch.from_numpy(x).permute(0, 3, 1, 2),
                           torch.from_numpy(w).permute(2, 3, 0, 1).reshape(6, 1, 3, 3), stride=2,
                           padding=1, groups=3).permute(0, 2, 3, 1).numpy().copy(),
     (2, 5, 6, 3), (3, 3, 3, 2)),
]  # fmt: skip


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=lambda case: case[0])
def test_convolutions(case: Any) -> None:
    _, build, reference, data, kernel = case
    check(build, reference, draw(*data), draw(*kernel), tolerance=1e-4)


def test_channels_in_blocks() -> None:
    x, w = draw(2, 2, 6, 7, 3), draw(2, 2, 3, 3, 3, 4)

    def reference(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        plain = torch.from_numpy(x.transpose(0, 1, 4, 2, 3).reshape(2, 6, 6, 7))
        kernel = torch.from_numpy(w.transpose(0, 5, 1, 4, 2, 3).reshape(8, 6, 3, 3))
        made = F.conv2d(plain, kernel, stride=2, padding=1).numpy()
        return made.reshape(2, 2, 4, *made.shape[2:]).transpose(0, 1, 3, 4, 2)

    def build(x: Any, w: Any) -> Any:
        return nn.conv2d_NCHWc(x, w, 2, 1, 1, "NCHW3c", "NCHW4c")

    check(build, reference, x, w, tolerance=1e-4)
    check(
        lambda x: nn.unpack_NCHWc_to_nchw(x, "float64"),
        lambda x: x.transpose(0, 1, 4, 2, 3).reshape(2, 6, 6, 7).astype("float64"),
        x,
    )


@pytest.mark.parametrize(("stride", "padding"), [(1, 0), (1, 1), (2, 1), ((2, 1), (0, 1))])
def test_gradients_of_depthwise_convolutions(stride: Any, padding: Any) -> None:
    x, w = draw(2, 7, 6, 3), draw(3, 3, 3, 2)
    data = torch.from_numpy(x).requires_grad_()
    kernel = torch.from_numpy(w).requires_grad_()
    made = F.conv2d(
        data.permute(0, 3, 1, 2), kernel.permute(2, 3, 0, 1).reshape(6, 1, 3, 3), stride=stride,
        padding=padding, groups=3,
    ).permute(0, 2, 3, 1)  # fmt: skip
    out = draw(*made.shape)
    wanted = torch.autograd.grad(made, [data, kernel], torch.from_numpy(out))
    for build, operand, gradient in (
        (
            lambda k, g: nn.depthwise_conv2d_backward_input_nhwc(
                k, g, out.shape, x.shape, stride, padding
            ),
            w,
            wanted[0],
        ),
        (
            lambda d, g: nn.depthwise_conv2d_backward_weight_nhwc(
                d, g, out.shape, w.shape, stride, padding
            ),
            x,
            wanted[1],
        ),
    ):
        check(build, lambda *_, g=gradient: g.numpy(), operand, out, tolerance=1e-4)


@pytest.mark.parametrize("groups", [1, 2])
def test_deformable_convolutions(groups: int) -> None:
    """Without offsets they are convolutions; whole offsets read other pixels."""
    x, w = draw(2, 4, 6, 7), draw(4, 4 // groups, 3, 3)
    still = np.zeros((2, 2 * 18, 6, 7), "float32")

    def build(x: Any, o: Any, w: Any) -> Any:
        return nn.deformable_conv2d_nchw(x, o, w, 1, 1, 1, 2, groups, "float32")

    def plain(x: np.ndarray, _: Any, w: np.ndarray) -> np.ndarray:
        return F.conv2d(torch.from_numpy(x), torch.from_numpy(w), padding=1, groups=groups).numpy()

    check(build, plain, x, still, w, tolerance=1e-4)
    moved = still.copy()
    moved[:, 1::2] = 1.0  # one pixel to the right

    def shifted(x: np.ndarray, o: Any, w: np.ndarray) -> np.ndarray:
        return plain(np.pad(x, [(0, 0)] * 3 + [(0, 1)])[..., 1:], o, w)[..., :7]

    got = run(build(*(p := [te.placeholder(a.shape) for a in (x, moved, w)])), p, x, moved, w)
    # At the left border the padding of the shifted image is not the pixel that is read.
    np.testing.assert_allclose(got[..., 1:], shifted(x, moved, w)[..., 1:], rtol=1e-4, atol=1e-4)
    half = still.copy()
    half[:, 1::2] = 0.5
    between = run(build(*(p := [te.placeholder(a.shape) for a in (x, half, w)])), p, x, half, w)
    mean = (plain(x, still, w) + shifted(x, moved, w)) / 2
    np.testing.assert_allclose(between[..., 1:], mean[..., 1:], rtol=1e-4, atol=1e-4)
    last = [
        np.ascontiguousarray(a.transpose(order))
        for a, order in ((x, (0, 2, 3, 1)), (half, (0, 2, 3, 1)), (w, (2, 3, 1, 0)))
    ]
    p = [te.placeholder(a.shape) for a in last]
    turned = run(nn.deformable_conv2d_nhwc(*p, 1, 1, 1, 2, groups, "float32"), p, *last)
    np.testing.assert_allclose(turned.transpose(0, 3, 1, 2), between, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("multiply", [True, False])
def test_correlation(multiply: bool) -> None:
    def reference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        a, b = (np.pad(x, [(0, 0), (0, 0), (3, 3), (3, 3)]) for x in (a, b))
        rows, columns = (-(-(size - 6) // 2) for size in a.shape[2:])
        out = np.zeros((2, 9, rows, columns), "float32")
        for q, i, j in np.ndindex(9, rows, columns):
            y, x = 2 * i + 2, 2 * j + 2
            v, u = y + (q // 3 - 1) * 2, x + (q % 3 - 1) * 2
            one, two = a[:, :, y : y + 3, x : x + 3], b[:, :, v : v + 3, u : u + 3]
            out[:, q, i, j] = (one * two if multiply else abs(one - two)).mean((1, 2, 3))
        return out

    x, y = draw(2, 3, 7, 8), draw(2, 3, 7, 8)
    check(lambda a, b: nn.correlation_nchw(a, b, 3, 2, 2, 2, 3, multiply), reference, x, y)


def test_blocks_of_pixels() -> None:
    x = draw(2, 8, 3, 4)

    def shuffled(x):
        return F.pixel_shuffle(torch.from_numpy(x), 2).numpy()

    check(lambda x: nn.depth_to_space(x, 2, mode="CDR"), shuffled, x)

    def dcr(x):
        return x.reshape(2, 2, 2, 2, 3, 4).transpose(0, 3, 4, 1, 5, 2).reshape(2, 2, 6, 8)

    check(lambda x: nn.depth_to_space(x, 2), dcr, x)
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    check(
        lambda x: nn.depth_to_space(x, 2, "NHWC"),
        lambda v: dcr(x).transpose(0, 2, 3, 1),
        last,
    )
    wide = dcr(x)
    check(lambda x: nn.space_to_depth(x, 2), lambda _: x, wide)
    with pytest.raises(Error, match="DCR or CDR, not XYZ"):
        nn.depth_to_space(te.placeholder((1, 4, 2, 2)), 2, mode="XYZ")


def test_space_and_batch() -> None:
    x = draw(2, 5, 7, 3)

    def reference(x: np.ndarray) -> np.ndarray:
        padded = np.pad(x, [(0, 0), (1, 0), (0, 2), (0, 0)], constant_values=9)
        split = padded.reshape(2, 3, 2, 3, 3, 3)
        return split.transpose(2, 4, 0, 1, 3, 5).reshape(12, 3, 3, 3)

    check(lambda x: nn.space_to_batch_nd(x, [2, 3], [1, 0], [0, 2], 9), reference, x)

    def back(v):
        return nn.batch_to_space_nd(v, [2, 3], [1, 0], [0, 2])

    check(back, lambda _: x, reference(x))


def test_dilation_and_buffers() -> None:
    def spread(x: np.ndarray) -> np.ndarray:
        out = np.full((2, 7, 5), -1, "float32")
        out[:, ::3, ::2] = x
        return out

    check(lambda x: nn.dilate(x, [1, 3, 2], -1.0), spread, draw(2, 3, 3))
    check(lambda x: nn.dilate(x, [1, 1]), lambda x: x, draw(2, 3))
    check(
        lambda d, b: nn.fifo_buffer(d, b, 1),
        lambda d, b: np.concatenate([b, d], 1)[:, 2:],
        draw(3, 2, 4),
        draw(3, 5, 4),
    )
    with pytest.raises(Error, match="2 dimensions, 1 strides"):
        nn.dilate(te.placeholder((2, 3)), [2])


def test_upsampling() -> None:
    x = draw(2, 3, 4, 5)

    def reference(mode: str, **more: Any) -> Callable[[np.ndarray], np.ndarray]:
        return lambda x: F.interpolate(torch.from_numpy(x), (8, 15), mode=mode, **more).numpy()

    check(lambda x: nn.upsampling(x, 2, 3), reference("nearest"), x)
    check(
        lambda x: nn.upsampling(x, 2, 3, method="bilinear", align_corners=True),
        reference("bilinear", align_corners=True),
        x,
        tolerance=1e-4,
    )
    volume = draw(1, 2, 3, 4, 5)
    check(
        lambda x: nn.upsampling3d(x, 2, 2, 1, method="trilinear"),
        lambda x: F.interpolate(
            torch.from_numpy(x), (6, 8, 5), mode="trilinear", align_corners=False
        ).numpy(),
        volume,
        tolerance=1e-4,
    )


def test_scales() -> None:
    x, a, b = draw(2, 3, 4, 5), draw(3), draw(3)

    def by_channel(x, a, b):
        return x * a[:, None, None] + b[:, None, None]

    check(nn.scale_shift_nchw, by_channel, x, a, b)
    check(nn.scale_shift_nhwc, lambda x, a, b: x * a + b, draw(2, 4, 5, 3), a, b)
    check(
        nn.scale_shift_nchwc,
        lambda x, a, b: x * a[:, None, None] + b[:, None, None],
        draw(2, 3, 4, 5, 2), draw(3, 2), draw(3, 2),
    )  # fmt: skip

    def local(x):
        return F.local_response_norm(torch.from_numpy(x), 3, 0.1, 0.6, 1.5).numpy()

    check(lambda x: nn.lrn(x, 3, 1, 0.1, 0.6, 1.5), local, draw(2, 5, 3, 4), tolerance=1e-4)
    with pytest.raises(Error, match="size is odd, given 4"):
        nn.lrn(te.placeholder((1, 4)), 4)


def test_fourier_transforms() -> None:
    a, b = draw(3, 7), draw(3, 7)
    for inverse in (False, True):
        function = np.fft.ifft if inverse else np.fft.fft

        def reference(a: np.ndarray, b: np.ndarray, f: Any = function) -> list[np.ndarray]:
            return [f(a + 1j * b).real, f(a + 1j * b).imag]

        check(lambda a, b, i=inverse: topi.dft(a, b, i), reference, a, b, tolerance=1e-4)
    signal, window = draw(2, 40), np.hanning(8).astype("float32")

    def short(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        made = torch.stft(
            torch.from_numpy(x), 16, 4, 16, torch.from_numpy(np.pad(w, (0, 8))), center=False,
            normalized=True, onesided=True, return_complex=True,
        )  # fmt: skip
        return torch.view_as_real(made).numpy()

    shape = short(signal, window).shape
    check(
        lambda x, w: topi.stft(x, 16, 4, 8, w, True, True, shape), short, signal, window,
        tolerance=1e-4,
    )  # fmt: skip
