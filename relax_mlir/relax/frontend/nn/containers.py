"""Modules and parameters in lists and dictionaries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from relax_mlir.relax.frontend.nn.core import Module, Parameter, value_attributes

Item = TypeVar("Item", Module, Parameter)


class _Container(Module):
    """Base: what is held has names of its own, not those of Python attributes."""

    def named_children(self) -> Iterator[tuple[str, Module | Parameter]]:
        """(name, held module or parameter) in order."""
        raise TypeError(f"{type(self).__name__} names no children")

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        yield from value_attributes(self, prefix, Parameter)

    def to(self, dtype: str | None = None) -> None:
        for _, child in self.named_children():
            child.to(dtype)


class _List(_Container, Generic[Item]):
    def __init__(self, items: Iterable[Item] = ()):
        self._items: list[Item] = list(items)

    def named_children(self) -> Iterator[tuple[str, Module | Parameter]]:
        for i, item in enumerate(self._items):
            yield str(i), item

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items)

    def __getitem__(self, index: int) -> Item:
        return self._items[index]

    def __setitem__(self, index: int, item: Item) -> None:
        self._items[index] = item

    def __len__(self) -> int:
        return len(self._items)

    def append(self, item: Item) -> None:
        self._items.append(item)

    def extend(self, items: Iterable[Item]) -> None:
        self._items.extend(items)


class ModuleList(_List[Module]):
    """Modules by number; calling it applies them in order."""

    def forward(self, x: Any) -> Any:
        for module in self:
            x = module(x)
        return x


class Sequential(ModuleList):
    """Modules applied in order: `nn.Sequential(nn.Linear(4, 8), nn.ReLU())`."""

    def __init__(self, *modules: Module):
        super().__init__(modules)


class ParameterList(_List[Parameter]):
    """Parameters by number."""


class _Dict(_Container, Generic[Item]):
    def __init__(self, items: Mapping[str, Item] | None = None):
        self._items: dict[str, Item] = dict(items or {})

    def named_children(self) -> Iterator[tuple[str, Module | Parameter]]:
        yield from self._items.items()

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __getitem__(self, key: str) -> Item:
        return self._items[key]

    def __setitem__(self, key: str, item: Item) -> None:
        self._items[key] = item

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, key: str) -> bool:
        return key in self._items

    def keys(self) -> Iterator[str]:
        return iter(self._items)

    def values(self) -> Iterator[Item]:
        return iter(self._items.values())

    def items(self) -> Iterator[tuple[str, Item]]:
        return iter(self._items.items())

    def get(self, key: str, default: Item | None = None) -> Item | None:
        return self._items.get(key, default)

    def update(self, items: Mapping[str, Item]) -> None:
        self._items.update(items)

    def pop(self, key: str) -> Item:
        return self._items.pop(key)

    def clear(self) -> None:
        self._items.clear()


class ModuleDict(_Dict[Module]):
    """Modules by name."""


class ParameterDict(_Dict[Parameter]):
    """Parameters by name."""
