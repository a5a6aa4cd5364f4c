"""LLVM IR as text that older versions of LLVM read.

The bindings' LLVM writes floating-point constants in a form (`+inf`, `f0x3DCCCCCD`, decimals that
are exact for their own type only) that llvmlite's does not know: they become hexadecimal.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

__all__ = ["for_older_llvm"]

_TYPE = r"\b(?P<type>half|bfloat|float|double)\b"
_LITERAL = (
    r"(?<![\w.%@$-])(?P<literal>f0x[0-9A-Fa-f]+|[+-]?(?:\d+\.\d+(?:[eE][+-]?\d+)?|inf\b|qnan\b"
    r"|s?nan\(0x[0-9A-Fa-f]+\)))"
)
_TOKEN = re.compile(f"{_TYPE}|{_LITERAL}")

# Type -> (bits, bits of the mantissa, how bits are written).
_FORMATS: dict[str, tuple[int, int, Callable[[int], str]]] = {
    "half": (16, 10, lambda bits: f"0xH{bits:04X}"),
    "bfloat": (16, 7, lambda bits: f"0xR{bits:04X}"),
    "float": (32, 23, lambda bits: f"0x{_widened(bits):016X}"),
    "double": (64, 52, lambda bits: f"0x{bits:016X}"),
}


def for_older_llvm(text: str) -> str:
    """The same module with constants that LLVM 3 to 24 agree on."""
    return "\n".join(_line(line) for line in text.split("\n"))


def _line(line: str) -> str:
    if ' c"' in line:  # a string
        return line
    kind = ""

    def replace(match: re.Match[str]) -> str:
        nonlocal kind
        if match["type"] is not None:
            kind = match["type"]
            return match[0]
        return _constant(kind, match["literal"]) if kind else match[0]

    return _TOKEN.sub(replace, line)


def _constant(kind: str, literal: str) -> str:
    width, mantissa, write = _FORMATS[kind]
    return write(_bits(kind, width, mantissa, literal))


def _bits(kind: str, width: int, mantissa: int, literal: str) -> int:
    if literal.startswith("f0x"):
        return int(literal[3:], 16)
    negative = literal.startswith("-")
    body = literal.lstrip("+-")
    sign = int(negative) << (width - 1)
    exponent = (1 << (width - 1)) - (1 << mantissa)
    if body == "inf":
        return sign | exponent
    if body == "qnan":
        return sign | exponent | 1 << (mantissa - 1)
    if "nan(" in body:
        payload = int(body[body.index("0x") : -1], 16)
        quiet = 0 if body.startswith("s") else 1 << (mantissa - 1)
        return sign | exponent | quiet | payload
    return _rounded(kind, float(literal))


def _rounded(kind: str, value: float) -> int:
    if kind == "double":
        return struct.unpack("<Q", struct.pack("<d", value))[0]
    if kind == "half":
        return struct.unpack("<H", struct.pack("<e", value))[0]
    single = struct.unpack("<I", struct.pack("<f", value))[0]
    if kind == "float":
        return single
    return (single + 0x7FFF + (single >> 16 & 1)) >> 16


def _widened(bits: int) -> int:
    """The bits of an f32 as those of the f64 of its value, which is how LLVM writes it."""
    exponent, fraction = bits >> 23 & 0xFF, bits & 0x7FFFFF
    if exponent == 0xFF:
        return bits >> 31 << 63 | 0x7FF << 52 | fraction << 29
    value = struct.unpack("<f", struct.pack("<I", bits))[0]
    return struct.unpack("<Q", struct.pack("<d", value))[0]
