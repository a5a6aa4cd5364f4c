"""Patterns that many back ends take: products and convolutions with what follows them, attention,
norms (TVM's `tvm.relax.backend.patterns`).

Each function gives a pattern and its named parts, as `FuseOpsByPattern` and `register_patterns`
take them, unless it says otherwise.
"""

from __future__ import annotations

from typing import TypeAlias

from relax_mlir.relax.dpl import DFPattern, is_op, wildcard

__all__ = [
    "make_attention_pattern",
    "make_fused_bias_activation_pattern",
    "make_layer_norm_pattern",
    "make_matmul_pattern",
    "make_residual_block_pattern",
    "make_rms_norm_pattern",
]

Annotated: TypeAlias = "tuple[DFPattern, dict[str, DFPattern]]"


def make_fused_bias_activation_pattern(
    op_name: str,
    with_bias: bool = False,
    activation: str | None = None,
    allow_reshape: bool = False,
) -> DFPattern:
    """A binary operator such as "relax.nn.conv2d" with a bias that is added, which may be reshaped
    before, and an activation such as "relax.nn.relu"; the pattern alone."""
    out = is_op(op_name)(wildcard(), wildcard())
    if with_bias:
        bias = wildcard()
        reshaped = is_op("relax.reshape")(bias, wildcard(), varg_default_wildcard=True)
        out = is_op("relax.add")(out, reshaped | bias if allow_reshape else bias)
    return is_op(activation)(out) if activation else out


def make_residual_block_pattern(
    node_output: DFPattern | Annotated,
    residual_op: str = "relax.add",
    activation: str | None = None,
) -> Annotated:
    """What `node_output` gives, joined with another tensor by `residual_op`, and an activation."""
    inner, parts = node_output if isinstance(node_output, tuple) else (node_output, {})
    other = wildcard()
    join = is_op(residual_op)
    out = join(inner, other) | join(other, inner)
    if activation is not None:
        out = is_op(activation)(out)
    return out, {**parts, "residual": other}


def make_matmul_pattern(
    with_bias: bool = False, activation: str | None = None, transposed_rhs: bool = False
) -> Annotated:
    """A matrix product, its right operand transposed or not, with bias and activation."""
    lhs, rhs = wildcard(), wildcard()
    root = is_op("relax.matmul")(lhs, is_op("relax.permute_dims")(rhs) if transposed_rhs else rhs)
    parts: dict[str, DFPattern] = {"lhs": lhs, "rhs": rhs, "root": root}
    out: DFPattern = root
    if with_bias:
        parts["bias"] = wildcard()
        out = is_op("relax.add")(out, parts["bias"])
    return (is_op(activation)(out) if activation else out), parts


def make_attention_pattern(with_bias: bool = False, var_len: bool = False) -> Annotated:
    """`relax.nn.attention` of query, key and value; with `var_len` that of packed sequences."""
    names = ["query", "key", "value"]
    if var_len:
        names += ["seqstart_q", "seqstart_k", "max_seqlen_q", "max_seqlen_k"]
    elif with_bias:
        names.append("bias")
    parts: dict[str, DFPattern] = {name: wildcard() for name in names}
    name = "attention_var_len" if var_len else "attention_bias" if with_bias else "attention"
    return is_op(f"relax.nn.{name}")(*parts.values()), parts


def make_layer_norm_pattern() -> Annotated:
    """`relax.nn.layer_norm` of data, gamma and beta."""
    return is_op("relax.nn.layer_norm")(wildcard(), wildcard(), wildcard()), {}


def make_rms_norm_pattern() -> Annotated:
    """`relax.nn.rms_norm` of data and weight."""
    parts: dict[str, DFPattern] = {"inp": wildcard(), "weight": wildcard()}
    return is_op("relax.nn.rms_norm")(*parts.values()), parts
