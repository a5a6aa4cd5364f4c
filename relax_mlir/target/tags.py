"""Names of machines that stand for the targets of them: "nvidia/geforce-rtx-3090-ti".

The names, architectures and limits are TVM's, for CPUs and NVIDIA GPUs that code is made for here:
compute capability 5.0 and later, without the boards whose host has a processor of another kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from relax_mlir.errors import CompileError

if TYPE_CHECKING:
    from relax_mlir.target.target import Target

__all__ = ["list_tags", "register_tag", "tagged"]

_NVIDIA = {
    "sm_50": "geforce-830m geforce-840m geforce-930m geforce-940m geforce-gtx-750 "
    "geforce-gtx-750-ti geforce-gtx-850m geforce-gtx-860m-sm-50 geforce-gtx-950m "
    "geforce-gtx-960m nvidia-nvs-810 quadro-k1200 quadro-k2200 quadro-k620 quadro-k620m "
    "quadro-m1000m quadro-m1200 quadro-m2000m quadro-m3000m quadro-m4000m quadro-m5000m "
    "quadro-m500m quadro-m520 quadro-m600m",
    "sm_52": "geforce-910m geforce-gtx-950 geforce-gtx-960 geforce-gtx-965m geforce-gtx-970 "
    "geforce-gtx-970m geforce-gtx-980 geforce-gtx-980-ti geforce-gtx-980m geforce-gtx-titan-x "
    "quadro-m2000 quadro-m2200 quadro-m4000 quadro-m5000 quadro-m5500m quadro-m6000 "
    "quadro-m6000-24gb quadro-m620 tesla-m40 tesla-m60",
    "sm_53": "jetson-nano jetson-tx1 tegra-x1",
    "sm_60": "quadro-gp100 tesla-p100",
    "sm_61": "geforce-gtx-1050 geforce-gtx-1060 geforce-gtx-1070 geforce-gtx-1070-ti "
    "geforce-gtx-1080 geforce-gtx-1080-ti nvidia-titan-x nvidia-titan-xp p520 p620 quadro-p1000 "
    "quadro-p2000 quadro-p2200 quadro-p3000 quadro-p3200 quadro-p400 quadro-p4000 quadro-p4200 "
    "quadro-p500 quadro-p5000 quadro-p5200 quadro-p600 quadro-p6000 quadro-p620 tesla-p4 "
    "tesla-p40",
    "sm_62": "jetson-tx2",
    "sm_70": "nvidia-titan-v nvidia-v100 quadro-gv100",
    "sm_75": "geforce-rtx-2060 geforce-rtx-2070 geforce-rtx-2080 geforce-rtx-2080-ti nvidia-t4 "
    "nvidia-titan-rtx quadro-rtx-4000 quadro-rtx-5000 quadro-rtx-6000 quadro-rtx-8000 rtx-3000 "
    "rtx-4000 rtx-5000 t1000 t2000",
    "sm_80": "nvidia-a100 nvidia-a30",
    "sm_86": "geforce-rtx-3060 geforce-rtx-3070 geforce-rtx-3070-ti geforce-rtx-3080 "
    "geforce-rtx-3080-ti geforce-rtx-3090 geforce-rtx-3090-ti nvidia-a10 nvidia-a10g nvidia-a16 "
    "nvidia-a2 nvidia-a40 rtx-a6000",
    "sm_89": "geforce-rtx-4090",
    "sm_90a": "nvidia-h100",
    "sm_100a": "nvidia-b100",
    "sm_120": "geforce-rtx-5060-ti",
}
"""The GPUs of each architecture."""

_L2_MIB = {
    "nvidia-a100": 40,
    "geforce-rtx-4090": 72,
    "nvidia-h100": 50,
    "nvidia-b100": 50,
    "geforce-rtx-5060-ti": 32,
}
_HALF_THE_REGISTERS = ("sm_53", "sm_62")

_AWS = {
    "c5.large": (1, "skylake-avx512"),
    "c5.xlarge": (2, "skylake-avx512"),
    "c5.2xlarge": (4, "skylake-avx512"),
    "c5.4xlarge": (8, "skylake-avx512"),
    "c5.9xlarge": (18, "skylake-avx512"),
    "c5.12xlarge": (24, "cascadelake"),
    "c5.18xlarge": (36, "skylake-avx512"),
    "c5.24xlarge": (48, "cascadelake"),
}
"""The cores and the processor of each instance."""


def _nvidia(name: str, arch: str) -> dict[str, Any]:
    config: dict[str, Any] = {
        "kind": "cuda",
        "arch": arch,
        "max_shared_memory_per_block": 48 << 10,
        "max_threads_per_block": 1024,
        "max_num_threads": 1024,
        "thread_warp_size": 32,
        "registers_per_block": (32 if arch in _HALF_THE_REGISTERS else 64) << 10,
    }
    if name in _L2_MIB:
        config["l2_cache_size_bytes"] = _L2_MIB[name] << 20
    return config


_TAGS: dict[str, dict[str, Any]] = {
    "llvm-cpu": {"kind": "llvm"},
    **{
        f"nvidia/{name}": _nvidia(name, arch)
        for arch, names in _NVIDIA.items()
        for name in names.split()
    },
    **{
        f"aws/cpu/{name}": {"kind": "llvm", "mcpu": mcpu, "num-cores": cores}
        for name, (cores, mcpu) in _AWS.items()
    },
}


def tagged(name: str) -> dict[str, Any] | None:
    """The configuration that a tag stands for; None for what is no tag."""
    return dict(_TAGS[name]) if name in _TAGS else None


def list_tags() -> dict[str, Target]:
    """The target of every tag."""
    from relax_mlir.target.target import Target

    return {name: Target(name) for name in _TAGS}


def register_tag(name: str, config: Mapping[str, Any], override: bool = False) -> Target:
    """Let a name stand for a configuration, `{"kind": ...}`; the target that it is.

    Raises CompileError for a configuration of no target, and for a name that is taken unless
    `override`.
    """
    from relax_mlir.target.target import Target

    if name in _TAGS and not override:
        raise CompileError(f"there is a target tag '{name}' already; override=True replaces it")
    target = Target(config)
    _TAGS[name] = dict(config)
    return target
