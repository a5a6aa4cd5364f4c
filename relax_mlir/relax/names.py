"""Names that are not taken yet: `lv`, `lv1`, `lv2` ..., as TVM numbers them."""

from __future__ import annotations

import re
from collections.abc import Iterable


class NameSupply:
    """Hands out unique names; a taken `x` becomes `x1`, a taken `x1` `x1_1`."""

    def __init__(self, taken: Iterable[str] = ()):
        self._taken = set(taken)
        self._promised: set[str] = set()
        self._next: dict[str, int] = {}

    def promise(self, names: Iterable[str]) -> None:
        """Keep names that the program will bind itself from being handed out before."""
        self._promised.update(names)

    def reserve(self, name: str) -> None:
        self._taken.add(name)

    def release(self, name: str) -> None:
        self._taken.discard(name)

    def __contains__(self, name: str) -> bool:
        return name in self._taken

    def own(self, name: str) -> str:
        """A name the program chose: as it is while it is free, then with a number."""
        self._promised.discard(name)
        return self.fresh(name)

    def fresh(self, prefix: str) -> str:
        """`prefix` itself while it is free, then with a number."""
        prefix = re.sub(r"\W", "_", prefix) or "v"
        if prefix[0].isdigit():
            prefix = f"_{prefix}"
        name, number = prefix, self._next.get(prefix, 1)
        stem = f"{prefix}_" if prefix[-1].isdigit() else prefix
        while name in self._taken or name in self._promised:
            name = f"{stem}{number}"
            number += 1
        self._next[prefix] = number
        self._taken.add(name)
        return name
