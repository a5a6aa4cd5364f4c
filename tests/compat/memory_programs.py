"""Random graphs by a block builder; prints the bytes that each package plans for their tensors.

python memory_programs.py tvm|relax_mlir
"""

from __future__ import annotations

import importlib
import random
import re
import sys
from typing import Any

NETWORKS = 30


def network(relax: Any, seed: int) -> Any:
    """A module of one function: operators that keep, widen and narrow what they are given."""
    rng, builder = random.Random(seed), relax.BlockBuilder()
    op, kind = relax.op, getattr(relax, "TensorType", None) or relax.TensorStructInfo
    width = 64
    x = relax.Var("x", kind((8, width), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            alive = [(x, width)]
            for _ in range(rng.randrange(8, 24)):
                value, size = rng.choice(alive[-4:])
                other, other_size = rng.choice(alive[-6:])
                choice = rng.randrange(4)
                if choice == 0:
                    made, size = op.nn.relu(value), size
                elif choice == 1 and size == other_size:
                    made = op.add(value, other)
                elif choice == 2 and size + other_size <= 512:
                    made, size = op.concat([value, other], axis=1), size + other_size
                else:
                    size = max(1, size // 2)
                    made = op.strided_slice(value, [1], [0], [size])
                alive.append((builder.emit(made), size))
            result = builder.emit_output(op.exp(alive[-1][0]))
        builder.emit_func_output(result)
    return builder.get()


def planned_by_tvm(relax: Any, module: Any) -> int:
    """The sum of the storages that are left for tensors to share."""
    passes = ("LegalizeOps", "ToNonDataflow", "RemovePurityChecking", "CallTIRRewrite")
    for name in (*passes, "StaticPlanBlockMemory"):
        module = getattr(relax.transform, name)()(module)
    sizes = re.findall(r"R\.memory\.alloc_storage\(R\.shape\(\[(\d+)\]\)", module.script())
    return sum(map(int, sizes))


def planned_by_us(relax: Any, module: Any) -> int:
    text = relax.analysis.estimate_memory_usage(module)
    found = re.search(r"With memory planning, \d+ tensors of constant size take (\d+) bytes", text)
    return int(found[1]) if found else 0


def main(package: str) -> None:
    relax = importlib.import_module(f"{package}.relax")
    planned = planned_by_tvm if package == "tvm" else planned_by_us
    print(*(planned(relax, network(relax, seed)) for seed in range(NETWORKS)))


if __name__ == "__main__":
    main(sys.argv[1])
