"""The `I` namespace: modules in TVMScript."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.script.parser.entry import current_module, ir_module, pyfunc

__all__ = [
    "DeviceMesh",
    "DummyGlobalInfo",
    "Range",
    "VDevice",
    "dummy_global_info",
    "ir_module",
    "meta_var",
    "module_attrs",
    "module_get_attr",
    "module_global_infos",
    "module_set_attr",
    "pyfunc",
    "vdevice",
]


def __getattr__(name: str) -> Any:
    # Late: the modules below load MLIR.
    if name in ("GlobalVar", "IRModule", "Op"):
        from relax_mlir import ir

        return getattr(ir, name)
    raise AttributeError(f"I has no '{name}'")


def module_attrs(attrs: Mapping[str, Any], allow_overwrite: bool = False) -> None:
    """Set the attributes of the module whose class body this stands in.

    Raises ValueError when an attribute is set twice and `allow_overwrite` is False.
    """
    module = current_module()
    if module is None:
        return  # Python executes the class body before the module is parsed.
    twice = [key for key in attrs if key in module.attrs]
    if twice and not allow_overwrite:
        raise ValueError(f"module attribute '{twice[0]}' is set twice")
    module.attrs.update(attrs)


def meta_var(value: Any) -> Any:
    """A Python value that the program uses as it is."""
    return value


def module_set_attr(key: str, value: Any, allow_overwrite: bool = False) -> None:
    """Set one attribute of the module."""
    module_attrs({key: value}, allow_overwrite)


def module_get_attr(key: str) -> Any:
    """An attribute set earlier in the class body, or None."""
    module = current_module()
    return None if module is None else module.attrs.get(key)


def module_global_infos(infos: Mapping[str, Any]) -> None:
    """Set the module's global infos: lists by name, as `{"vdevice": [I.vdevice("llvm")]}`."""
    module = current_module()
    if module is not None:
        module.global_infos.update(infos)


class GlobalInfo:
    """A piece of information that belongs to a module as a whole."""

    def __init__(self, kind: str, **fields: Any):
        self.kind = kind
        self.fields = fields

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GlobalInfo) and (other.kind, other.fields) == (
            self.kind,
            self.fields,
        )

    def __hash__(self) -> int:
        return hash((self.kind, tuple(self.fields.items())))

    def __repr__(self) -> str:
        return f"I.{self.kind}({', '.join(repr(v) for v in self.fields.values())})"


class VDevice(GlobalInfo):
    """A virtual device (TVM's `tvm.ir.VDevice`); as text "cuda:0:global"."""

    def __init__(self, target: Any = None, vdevice_id: int = 0, memory_scope: str = "global"):
        super().__init__("vdevice", target=target, vdevice_id=vdevice_id, memory_scope=memory_scope)

    def __str__(self) -> str:
        """The kind of the target, the index and the scope, as types name a device."""
        target = self.fields["target"]
        kind = target.get("kind") if isinstance(target, Mapping) else target
        parts = (kind, self.fields["vdevice_id"], self.fields["memory_scope"])
        return ":".join(str(part) for part in parts)


class DeviceMesh(GlobalInfo):
    """A mesh of devices for distributed tensors: its shape and the devices' numbers."""

    def __init__(self, shape: Sequence[int], device_ids: Any):
        super().__init__("device_mesh", shape=tuple(shape), device_ids=device_ids)

    def __repr__(self) -> str:
        ids = self.fields["device_ids"]
        if isinstance(ids, Range):
            ids = f"I.Range({ids.start}, {ids.stop})"
        return f"R.device_mesh({self.fields['shape']!r}, {ids})"


@dataclass(frozen=True)
class Range:
    """`I.Range(0, 4)`: the numbers of devices."""

    start: int
    stop: int


def vdevice(target: Any = None, vdevice_id: int = 0, memory_scope: str = "global") -> VDevice:
    """A virtual device: a target, an index among those of the target, and a memory scope."""
    return VDevice(target, vdevice_id, memory_scope)


class DummyGlobalInfo(GlobalInfo):
    """An info without content, for tests."""

    def __init__(self) -> None:
        super().__init__("dummy_global_info")


def dummy_global_info() -> DummyGlobalInfo:
    """An info without content, for tests."""
    return DummyGlobalInfo()
