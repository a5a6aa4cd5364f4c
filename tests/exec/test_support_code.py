"""The support functions of host code are made when they are needed, one copy for all engines."""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from relax_mlir.runtime import support_code
from relax_mlir.runtime.engine import ffi_library
from relax_mlir.runtime.machine_code import MachineCode
from relax_mlir.runtime.support_code import SupportCode

COUNT_ERROR = "relax_ffi_count_error"
PENDING = "relax_ffi_pending_error"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[MachineCode]:
    """Gets the machine code that support functions are made of."""
    codes: list[MachineCode] = []

    def make(*args: Any, **options: Any) -> MachineCode:
        codes.append(MachineCode(*args, **options))
        return codes[-1]

    monkeypatch.setattr(support_code, "MachineCode", make)
    return codes


@pytest.fixture
def support() -> SupportCode:
    return SupportCode((ffi_library(),))


def test_functions_are_made_once(support: SupportCode, made: list[MachineCode]) -> None:
    first = support.addresses([PENDING])
    assert support.addresses([PENDING]) == first
    both = support.addresses([PENDING, "relax_ffi_release"])
    assert both[PENDING] == first[PENDING] and both["relax_ffi_release"]
    assert len(made) == 2


def test_threads_get_one_copy(support: SupportCode, made: list[MachineCode]) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: support.addresses(["relax_ffi_release"]), range(4)))
    assert found == [found[0]] * 4 and len(made) == 1


def test_errors_are_made_when_one_is_raised(support: SupportCode, made: list[MachineCode]) -> None:
    raise_error = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int)(
        support.addresses([COUNT_ERROR])[COUNT_ERROR]
    )
    pending = ctypes.CFUNCTYPE(ctypes.c_int)(support.addresses([PENDING])[PENDING])
    take = ctypes.CDLL(ffi_library()).TVMFFIErrorMoveFromRaised
    assert pending() == 0 and len(made) == 1
    for _ in range(2):
        raise_error(b"main: ", b"2 arguments", 3)
        assert pending() == -1
        take(ctypes.byref(ctypes.c_void_p()))
        assert pending() == 0
    assert len(made) == 2
