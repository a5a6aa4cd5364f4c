"""What the files of TVM's pass names share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relax_mlir.errors import PassError
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.passes import find_pass
from relax_mlir.transform.passes import LoweringPass

__all__ = ["custom_legalizer", "lowering_pass"]


def lowering_pass(name: str, pass_name: str, **options: Any) -> LoweringPass:
    """The lowering pass `pass_name` under TVM's name."""
    cls = find_pass(pass_name)
    if cls is None:
        raise PassError(f"there is no pass '{pass_name}'")
    return LoweringPass(name, cls(**options))


def custom_legalizer(
    legalizers: Mapping[str, Callable[..., Any]], skipped: Sequence[str]
) -> Callable[[IRModule], IRModule]:
    """Applies a user's functions for operators, before the table's."""
    from relax_mlir.relax.block_builder import BlockBuilder
    from relax_mlir.relax.rewrite import rewrite_calls

    def apply(mod: IRModule) -> IRModule:
        builder = BlockBuilder(mod)

        def replace(call: Any) -> Any:
            name = str(getattr(call.op, "name", ""))
            if name in skipped or name not in legalizers:
                return None
            return legalizers[name](builder, call)

        return rewrite_calls(mod, builder, replace)

    return apply
