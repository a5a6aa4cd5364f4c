"""What the texts of intrinsics have in common: parameters, and functions around a root block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import dedent, indent


@dataclass(frozen=True)
class Parameter:
    """A parameter of an intrinsic: the buffer's shape, dtype and storage scope.

    `factor` is TVM's `offset_factor`: the first element is at a multiple of it.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    scope: str
    factor: int = 1

    def declaration(self, strides: Sequence[str] = ()) -> str:
        """The statement that matches the buffer to the parameter's handle."""
        layout = f", strides=[{', '.join(strides)}]" if strides else ""
        return (
            f'{self.name} = T.match_buffer({self.name.lower()}_handle, {self.shape}, '
            f'"{self.dtype}", align=64, offset_factor={self.factor}, scope="{self.scope}"{layout})'
        )  # fmt: skip

    @property
    def region(self) -> str:
        """All of the buffer, as a region."""
        return f"{self.name}[{', '.join(f'0:{size}' for size in self.shape)}]"


def function(
    name: str,
    parameters: Sequence[Parameter],
    body: str,
    reads: Sequence[Parameter],
    writes: Sequence[Parameter],
    strides: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """A primitive function whose root block reads and writes whole parameters.

    `strides` names the symbols of the strides of parameters whose layout the body asks for.
    """
    strides = strides or {}
    symbols = [symbol for names in strides.values() for symbol in names]
    lines = [f"{symbol} = T.int32()" for symbol in symbols]
    lines += [p.declaration(strides.get(p.name, ())) for p in parameters]
    lines += ['with T.block("root"):']
    lines += [f"    T.reads({', '.join(p.region for p in reads)})"]
    lines += [f"    T.writes({', '.join(p.region for p in writes)})"]
    handles = ", ".join(f"{p.name.lower()}_handle: T.handle" for p in parameters)
    head = f"@T.prim_func\ndef {name}({handles}):\n"
    return head + indent("\n".join(lines) + "\n" + indent(dedent(body).strip("\n"), "    "), "    ")
