"""The convolution strategies against float64: shapes that meet every branch, and random ones."""

from __future__ import annotations

import random

import pytest

from tests.exec.convolution_cases import Case, check

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
    "depthwise, silu": Case((8, 8), 16, 16, (3, 3), padding=SAME3, groups=16, epilogue="bs"),
    "grouped": Case((9, 10), 24, 48, (3, 3), padding=SAME3, groups=4, epilogue="brm"),
    "grouped, pointwise": Case((6, 7), 24, 48, (1, 1), groups=3, epilogue="b"),
    "multiplier": Case((9, 10), 8, 16, (3, 3), padding=SAME3, groups=8),
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


@pytest.mark.parametrize("name", ["same", "large weight", "depthwise", "images", "1-d"])
def test_two_threads(name: str) -> None:
    check(SHAPES[name], target="llvm -num-cores=2")
