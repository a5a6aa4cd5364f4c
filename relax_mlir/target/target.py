"""Targets: a kind ("llvm", "cuda") and its attributes, in every spelling TVM has had."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from relax_mlir.errors import CompileError
from relax_mlir.target.tags import tagged

_KINDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "llvm": ("cpu", ("cpu",)),
    "c": ("cpu", ("cpu",)),
    "cuda": ("cuda", ("cuda", "gpu")),
    "nvptx": ("cuda", ("cuda", "gpu")),
    "rocm": ("rocm", ("rocm", "gpu")),
    "opencl": ("opencl", ("opencl", "gpu")),
}
"""Kind -> (device type, keys)."""


@dataclass(frozen=True)
class TargetKind:
    """The kind of a target; prints as its name."""

    name: str

    def __str__(self) -> str:
        return self.name


class Target:
    """A compilation target: `Target("llvm")`, `Target("llvm -num-cores 4")`,
    `Target({"kind": "llvm", "mcpu": "znver4", "num-cores": 4})`.

    Names of machines stand for their targets (`tags.py`): `Target("nvidia/nvidia-a100")`, and so
    does a dictionary's `tag`, whose other keys go before.

    `with Target("cuda"):` makes it the current one.  Raises CompileError for an unknown kind.
    """

    _stack: ClassVar[list[Target]] = []

    def __init__(
        self,
        target: str | Mapping[str, Any] | Target | TargetKind = "llvm",
        host: str | Mapping[str, Any] | Target | None = None,
    ):
        config = _configuration(target)
        name = config.pop("kind")
        if name not in _KINDS:
            raise CompileError(
                f"unknown target kind '{name}'; known kinds are {', '.join(sorted(_KINDS))}",
                hint="relax_mlir.target.list_tags() has the names of machines",
            )
        inner_host = config.pop("host", None)
        self.kind = TargetKind(name)
        self.keys = list(config.pop("keys", _KINDS[name][1]))
        self.tag = config.pop("tag", "")
        self.attrs: dict[str, Any] = config
        self.host = Target(host or inner_host) if host or inner_host else None

    @property
    def device_type(self) -> str:
        return _KINDS[self.kind.name][0]

    def get_target_device_type(self) -> str:
        return self.device_type

    @property
    def num_cores(self) -> int | None:
        value = self.attrs.get("num-cores")
        return None if value is None else int(value)

    @property
    def mcpu(self) -> str | None:
        return self.attrs.get("mcpu")

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """The innermost target of a `with`; None when there is none and that is allowed."""
        if Target._stack:
            return Target._stack[-1]
        if allow_none:
            return None
        raise CompileError("no target: use `with Target(...):` or give one")

    @staticmethod
    def from_device(device: Any) -> Target:
        """The target that makes code for a device, for its architecture where it can be asked."""
        kind = getattr(device, "type", str(device).split(":")[0])
        version = getattr(device, "compute_version", None) if kind == "cuda" else None
        if version:
            return Target({"kind": "cuda", "arch": f"sm_{version.replace('.', '')}"})
        return Target({"cpu": "llvm", "cuda-emu": "cuda"}.get(kind, kind))

    def with_host(self, host: str | Mapping[str, Any] | Target) -> Target:
        return Target(self.export(), host)

    def export(self) -> dict[str, Any]:
        """The target as a dictionary that `Target` reads back."""
        config: dict[str, Any] = {"kind": self.kind.name, "keys": list(self.keys), **self.attrs}
        if self.tag:
            config["tag"] = self.tag
        if self.host is not None:
            config["host"] = self.host.export()
        return config

    def __enter__(self) -> Target:
        Target._stack.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        Target._stack.pop()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and self.export() == other.export()

    def __hash__(self) -> int:
        return hash(json.dumps(self.export(), sort_keys=True, default=str))

    def __str__(self) -> str:
        return json.dumps(self.export(), default=str)

    __repr__ = __str__


def _configuration(target: str | Mapping[str, Any] | Target | TargetKind) -> dict[str, Any]:
    if isinstance(target, Target):
        return target.export()
    if isinstance(target, TargetKind):
        return {"kind": target.name}
    if isinstance(target, Mapping):
        config = dict(target)
        if "kind" not in config:
            config = {**(tagged(config.get("tag", "")) or {}), **config}
        if "kind" not in config:
            raise CompileError(f"a target needs a kind, or the tag of a machine: {config}")
        return config
    text = target.strip()
    if text.startswith("{"):
        return _configuration(json.loads(text))
    return tagged(text) or _command_line(text)


def _command_line(text: str) -> dict[str, Any]:
    """The old spelling: `llvm -mcpu=znver4 -num-cores 4`."""
    words = shlex.split(text)
    if not words:
        raise CompileError("the target is an empty string; try 'llvm'")
    config: dict[str, Any] = {"kind": words[0]}
    rest = words[1:]
    while rest:
        word = rest.pop(0)
        if not word.startswith("-"):
            raise CompileError(f"'{word}' in target '{text}' is no option; options start with '-'")
        key, has_value, value = word.lstrip("-").partition("=")
        if not has_value and rest and not rest[0].startswith("-"):
            value, has_value = rest.pop(0), "="
        config[key] = _value(key, value) if has_value else True
    return config


def _value(key: str, text: str) -> Any:
    if key in ("keys", "mattr", "libs"):
        return text.split(",")
    return int(text) if text.lstrip("-").isdigit() else text
