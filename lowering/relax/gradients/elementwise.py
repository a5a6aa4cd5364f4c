"""Gradients of elementwise operators."""

from __future__ import annotations

import math
from collections.abc import Callable

from relax_mlir.lowering.relax.gradients.rules import CONSTANT, RULES, Gradient, Step, gradient
from relax_mlir.lowering.relax.rewriting import dtype_of
from relax_mlir.mlir import ir

CONSTANT.update(
    "ceil floor round trunc sign isfinite isinf isnan logical_not equal not_equal greater "
    "greater_equal less less_equal logical_and logical_or logical_xor bitwise_and bitwise_or "
    "bitwise_xor bitwise_not left_shift right_shift floor_divide argmax argmin argsort bucketize "
    "zeros_like ones_like full_like shape_of size one_hot grad.no_grad nonzero unique".split()
)

Derivative = Callable[[Step, ir.Value, ir.Value], ir.Value]
"""The derivative of a function of one operand, from the operand and the result."""


def _one(s: Step, x: ir.Value) -> ir.Value:
    return s.number(1.0, x)


def _square(s: Step, x: ir.Value) -> ir.Value:
    return s("multiply", x, x)


def _mask(s: Step, condition: ir.Value, x: ir.Value) -> ir.Value:
    return s("astype", condition, dtype=_dtype(x))


def _dtype(x: ir.Value) -> str:
    return dtype_of(x) or "float32"


def _erf(s: Step, x: ir.Value, y: ir.Value) -> ir.Value:
    return s(
        "multiply", s.number(2 / math.sqrt(math.pi), x), s("exp", s("negative", _square(s, x)))
    )


def _normal_density(s: Step, x: ir.Value) -> ir.Value:
    half = s("multiply", s.number(-0.5, x), _square(s, x))
    return s("multiply", s.number(1 / math.sqrt(2 * math.pi), x), s("exp", half))


def _gelu(s: Step, x: ir.Value, y: ir.Value) -> ir.Value:
    erf = s("erf", s("multiply", x, s.number(math.sqrt(0.5), x)))
    below = s("multiply", s.number(0.5, x), s("add", _one(s, x), erf))
    return s("add", below, s("multiply", x, _normal_density(s, x)))


def _gelu_tanh(s: Step, x: ir.Value, y: ir.Value) -> ir.Value:
    root, cubic = math.sqrt(2 / math.pi), 0.044715
    square = _square(s, x)
    inner = s("multiply", s.number(cubic, x), s("multiply", square, x))
    t = s("tanh", s("multiply", s.number(root, x), s("add", x, inner)))
    slope = s("add", _one(s, x), s("multiply", s.number(3 * cubic, x), square))
    rest = s("multiply", s("subtract", _one(s, x), _square(s, t)), slope)
    second = s("multiply", s.number(0.5 * root, x), s("multiply", x, rest))
    return s("add", s("multiply", s.number(0.5, x), s("add", _one(s, x), t)), second)


def _silu(s: Step, x: ir.Value, y: ir.Value) -> ir.Value:
    sigmoid = s("sigmoid", x)
    rest = s("multiply", x, s("subtract", _one(s, x), sigmoid))
    return s("multiply", sigmoid, s("add", _one(s, x), rest))


def _softplus(s: Step, x: ir.Value, y: ir.Value) -> ir.Value:
    beta, threshold = s.attributes["beta"], s.attributes["threshold"]
    scaled = s("multiply", x, s.number(beta, x))
    return s(
        "where", s("greater", scaled, s.number(threshold, x)), _ones(s, x), s("sigmoid", scaled)
    )


def _ones(s: Step, x: ir.Value) -> ir.Value:
    return s("ones_like", x)


def _selu(s: Step, x: ir.Value, y: ir.Value) -> ir.Value:
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    low = s("multiply", s.number(scale * alpha, x), s("exp", x))
    high = s("multiply", s.number(scale, x), _ones(s, x))
    return s("where", s("greater", x, s.number(0.0, x)), high, low)


def _leaky(s: Step, x: ir.Value, y: ir.Value) -> ir.Value:
    low = s("multiply", s.number(s.attributes["alpha"], x), _ones(s, x))
    return s("where", s("greater", x, s.number(0.0, x)), _ones(s, x), low)


def _inside(s: Step, x: ir.Value, low: float, high: float) -> ir.Value:
    above, below = s("greater_equal", x, s.number(low, x)), s("less_equal", x, s.number(high, x))
    return _mask(s, s("logical_and", above, below), x)


UNARY: dict[str, Derivative] = {
    "abs": lambda s, x, y: s("sign", x),
    "acos": lambda s, x, y: s("negative", s("rsqrt", s("subtract", _one(s, x), _square(s, x)))),
    "acosh": lambda s, x, y: s("rsqrt", s("subtract", _square(s, x), _one(s, x))),
    "asin": lambda s, x, y: s("rsqrt", s("subtract", _one(s, x), _square(s, x))),
    "asinh": lambda s, x, y: s("rsqrt", s("add", _square(s, x), _one(s, x))),
    "atan": lambda s, x, y: s("divide", _one(s, x), s("add", _square(s, x), _one(s, x))),
    "atanh": lambda s, x, y: s("divide", _one(s, x), s("subtract", _one(s, x), _square(s, x))),
    "cos": lambda s, x, y: s("negative", s("sin", x)),
    "cosh": lambda s, x, y: s("sinh", x),
    "erf": _erf,
    "exp": lambda s, x, y: y,
    "log": lambda s, x, y: s("divide", _one(s, x), x),
    "rsqrt": lambda s, x, y: s("multiply", s.number(-0.5, x), s("divide", y, x)),
    "sigmoid": lambda s, x, y: s("multiply", y, s("subtract", _one(s, x), y)),
    "sin": lambda s, x, y: s("cos", x),
    "sinh": lambda s, x, y: s("cosh", x),
    "sqrt": lambda s, x, y: s("divide", s.number(0.5, x), y),
    "square": lambda s, x, y: s("multiply", s.number(2.0, x), x),
    "tan": lambda s, x, y: s("add", _one(s, x), _square(s, y)),
    "tanh": lambda s, x, y: s("subtract", _one(s, x), _square(s, y)),
    "clip": lambda s, x, y: _inside(s, x, s.attributes["min"], s.attributes["max"]),
    "nn.relu": lambda s, x, y: _mask(s, s("greater", x, s.number(0.0, x)), x),
    "nn.relu6": lambda s, x, y: _inside(s, x, 0.0, 6.0),
    "nn.leakyrelu": _leaky,
    "nn.gelu": _gelu,
    "nn.gelu_tanh": _gelu_tanh,
    "nn.silu": _silu,
    "nn.selu": _selu,
    "nn.softplus": _softplus,
}


def _by_chain_rule(derivative: Derivative) -> Callable[[Step, ir.Value], list[Gradient]]:
    def rule(s: Step, grad: ir.Value) -> list[Gradient]:
        return [s("multiply", grad, derivative(s, s.operands[0], s.result))]

    return rule


RULES.update({name: _by_chain_rule(derivative) for name, derivative in UNARY.items()})


@gradient("negative")
def negative(s: Step, grad: ir.Value) -> list[Gradient]:
    return [s("negative", grad)]


@gradient("add")
def add(s: Step, grad: ir.Value) -> list[Gradient]:
    return [grad, grad]


@gradient("subtract")
def subtract(s: Step, grad: ir.Value) -> list[Gradient]:
    return [grad, s("negative", grad)]


@gradient("multiply")
def multiply(s: Step, grad: ir.Value) -> list[Gradient]:
    a, b = s.operands
    return [s("multiply", grad, b), s("multiply", grad, a)]


@gradient("divide")
def divide(s: Step, grad: ir.Value) -> list[Gradient]:
    b = s.operands[1]
    first = s("divide", grad, b)
    return [first, s("negative", s("multiply", first, s.result))]


@gradient("power")
def power(s: Step, grad: ir.Value) -> list[Gradient]:
    """The exponent's gradient is 0 where the base is not positive: there is none."""
    a, b = s.operands
    lower = s("power", a, s("subtract", b, s.number(1.0, b)))
    positive = s("greater", a, s.number(0.0, a))
    safe = s("where", positive, a, s("ones_like", a))
    return [
        s("multiply", grad, s("multiply", b, lower)),
        s("multiply", grad, s("multiply", s.result, s("log", safe))),
    ]


@gradient("maximum")
def maximum(s: Step, grad: ir.Value) -> list[Gradient]:
    """Where both are equal the gradient is the second one's."""
    a, b = s.operands
    return _choice(s, grad, s("greater", a, b))


@gradient("minimum")
def minimum(s: Step, grad: ir.Value) -> list[Gradient]:
    a, b = s.operands
    return _choice(s, grad, s("less", a, b))


def _choice(s: Step, grad: ir.Value, first: ir.Value) -> list[Gradient]:
    zero = s("zeros_like", grad)
    return [s("where", first, grad, zero), s("where", first, zero, grad)]


@gradient("where")
def where(s: Step, grad: ir.Value) -> list[Gradient]:
    return [None, *_choice(s, grad, s.operands[0])]


@gradient("ewise_fma")
def fma(s: Step, grad: ir.Value) -> list[Gradient]:
    a, b, _ = s.operands
    return [s("multiply", grad, b), s("multiply", grad, a), grad]


@gradient("atan2")
def atan2(s: Step, grad: ir.Value) -> list[Gradient]:
    a, b = s.operands
    length = s("add", s("multiply", a, a), s("multiply", b, b))
    scaled = s("divide", grad, length)
    return [s("multiply", scaled, b), s("negative", s("multiply", scaled, a))]


@gradient("astype")
def astype(s: Step, grad: ir.Value) -> list[Gradient]:
    return [s("astype", grad, dtype=_dtype(s.operands[0]))]


@gradient("grad.start_checkpoint", "grad.end_checkpoint", "builtin.stop_lift_params")
def identity(s: Step, grad: ir.Value) -> list[Gradient]:
    return [grad]
