"""`relax.VirtualMachine`: runs the Relax functions of an executable.

There is no bytecode and no interpreter: `vm["main"]` is the compiled function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from relax_mlir.runtime import numpy_bridge as bridge
from relax_mlir.runtime.benchmark import BenchmarkResult, time_function
from relax_mlir.runtime.device import Device, require_present
from relax_mlir.runtime.executable import Executable
from relax_mlir.runtime.ffi import tvm_ffi
from relax_mlir.runtime.module import Module
from relax_mlir.runtime.profile import Profile, record
from relax_mlir.runtime.tensor import tensor

__all__ = ["VMInstrumentReturnKind", "VirtualMachine"]


class VMInstrumentReturnKind(IntEnum):
    """What an instrument says before a call: to make it, or to skip it."""

    NO_OP = 0
    SKIP_RUN = 1


class _VMFunction:
    """A compiled Relax function that takes whatever numpy arrays there are.

    The call goes straight to machine code.  Only when that refuses its arguments, arrays that
    DLPack cannot describe (read-only ones, bfloat16 and the like) or that have gaps are copied
    and the call is made again; nothing has run then.
    """

    __slots__ = ("__name__", "_function")

    def __init__(self, name: str, function: Any) -> None:
        self.__name__ = name
        self._function = function

    def __call__(self, *args: Any) -> Any:
        try:
            return self._function(*args)
        except (BufferError, TypeError, ValueError, RuntimeError) as error:
            converted = _convert_refused(args, error)
            if converted is None:
                raise
        return self._function(*converted)

    def __repr__(self) -> str:
        return f"<relax function {self.__name__}>"


def _convert_refused(args: Sequence[Any], error: Exception) -> list[Any] | None:
    """Arguments with the refused arrays copied; None when the error has another cause."""
    refused = "expected contiguous" in str(error)

    def convert(value: Any) -> Any:
        nonlocal refused
        if isinstance(value, (list, tuple)):
            return type(value)(convert(item) for item in value)
        if not isinstance(value, np.ndarray):
            return value
        exportable = value.flags.writeable and value.dtype.name in bridge.PLAIN
        refused |= not exportable
        return value if exportable and value.flags.c_contiguous else tensor(value)

    converted = [convert(value) for value in args]
    return converted if refused else None


class VirtualMachine:
    """Runs an executable: `VirtualMachine(ex, cpu())["main"](x)`.

    `device` is one device or a list of them; they must exist on this machine.  `memory_cfg` is
    accepted for compatibility: memory is planned when the program is compiled.
    """

    NAIVE_ALLOCATOR = 1
    POOLED_ALLOCATOR = 2

    def __init__(
        self,
        rt_mod: Executable | Module,
        device: Any = None,
        memory_cfg: Any = None,
        profile: bool = False,
    ) -> None:
        if isinstance(rt_mod, Executable):
            rt_mod = rt_mod.jit()
        if not isinstance(rt_mod, Module):
            raise TypeError(
                f"VirtualMachine: expected an executable or a runtime module, got {rt_mod!r}"
            )
        devices = device if isinstance(device, (list, tuple)) else [device]
        for dev in devices:
            require_present(dev, "VirtualMachine")
        self.device: Device = next(filter(None, devices), None) or Device("cpu", 0)
        self._rt_mod = rt_mod
        _require_fitting(rt_mod, self.device)
        self.module = _VMModule(self)
        self._saved: dict[str, Callable[..., Any]] = {}
        self._functions: dict[str, _VMFunction] = {}
        self._inputs: dict[str, tuple[Any, ...]] = {}
        self._outputs: dict[str, Any] = {}
        self._instrument: Callable[..., Any] | None = None
        self._profiled: Module | None = None

    def __getitem__(self, key: str) -> Callable[..., Any]:
        """The function of that name; raises AttributeError when there is none."""
        if key in self._saved:
            return self._saved[key]
        if key == "invoke_stateful":
            return self.invoke_stateful
        found = self._functions.get(key)
        if found is None:
            function = self._rt_mod.get_function(key)
            # What was compiled for a GPU runs on the machine's device, whatever it is given.
            on: Callable[[Device], Any] | None = getattr(function, "on", None)
            found = _VMFunction(key, function if on is None else on(self.device))
            self._functions[key] = found
        return found if self._instrument is None else self._instrumented(key, found)

    def _instrumented(self, name: str, function: _VMFunction) -> Callable[..., Any]:
        instrument = self._instrument
        assert instrument is not None

        def call(*args: Any) -> Any:
            if instrument(function, name, True, None, *args) == VMInstrumentReturnKind.SKIP_RUN:
                return None
            result = function(*args)
            instrument(function, name, False, result, *args)
            return result

        return call

    def invoke_closure(self, closure: Callable[..., Any], *args: Any) -> Any:
        """Call a function value."""
        return closure(*args)

    def save_function(
        self,
        func_name: str,
        saved_name: str,
        *args: Any,
        include_return: bool = True,
        **kwargs: Any,
    ) -> None:
        """Make `vm[saved_name]()` call `func_name` with these arguments.

        Raises ValueError when `saved_name` is a function of the program.
        """
        if self._rt_mod.implements_function(saved_name):
            raise ValueError(f"save_function: {saved_name!r} is a function of the program")
        function, bound = self[func_name], self._bind(func_name, args, kwargs)

        def saved(*_: Any) -> Any:
            result = function(*bound)
            return result if include_return else None

        self._saved[saved_name] = saved

    def _bind(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Positional arguments of `name` from positional and named ones."""
        function_info = self._rt_mod.function_info(name)
        if not kwargs:
            return tuple(_as_argument(arg) for arg in args)
        if function_info is None:
            raise TypeError(f"{name}: parameter names are not known, pass arguments by position")
        unknown = [key for key in kwargs if key not in function_info.parameters]
        if unknown:
            names = ", ".join(function_info.parameters)
            raise TypeError(f"{name} has no parameter {unknown[0]!r}; it has {names}")
        rest = iter(args)
        bound: list[Any] = []
        for parameter in function_info.parameters:
            value = kwargs[parameter] if parameter in kwargs else next(rest, _MISSING)
            if value is _MISSING:
                raise TypeError(f"{name}: argument {parameter!r} is missing")
            bound.append(_as_argument(value))
        if next(rest, _MISSING) is not _MISSING:
            raise TypeError(f"{name}: too many arguments")
        return tuple(bound)

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Keep the arguments of the next `invoke_stateful(func_name)`."""
        self._rt_mod.get_function(func_name)
        self._inputs[func_name] = self._bind(func_name, args, kwargs)

    def invoke_stateful(self, func_name: str) -> None:
        """Call a function with the arguments of `set_input`; `get_outputs` has the result.

        Raises ValueError when no input was set.
        """
        if func_name not in self._inputs:
            raise ValueError(f"invoke_stateful: set_input was not called for {func_name!r}")
        self._outputs[func_name] = self[func_name](*self._inputs[func_name])

    def get_outputs(self, func_name: str) -> Any:
        """The result of the last `invoke_stateful(func_name)`; tuples as Python tuples."""
        if func_name not in self._outputs:
            raise ValueError(f"get_outputs: invoke_stateful was not called for {func_name!r}")
        return _as_tuple(self._outputs[func_name])

    def set_instrument(self, instrument: Callable[..., Any] | None) -> None:
        """Call `instrument(func, name, before_run, result, *args)` around every call; one that
        returns `VMInstrumentReturnKind.SKIP_RUN` before it skips the call."""
        self._instrument = instrument

    def profile(self, func_name: str, *args: Any, number: int = 1, warmup: int = 1) -> Profile:
        """How long each operator of a function takes: `print(vm.profile("main", x))`.

        The program is compiled once more, with a clock around every call; the function is then
        called `warmup` times for nothing and `number` times for the table.
        Raises Error for a program that was not compiled in this process.
        """
        if self._profiled is None:
            self._profiled = self._rt_mod.profiled()
        function = _VMFunction(func_name, self._profiled.get_function(func_name))
        return record(lambda: function(*args), number=number, warmup=warmup)

    def time_evaluator(
        self,
        func_name: str,
        dev: Any = None,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: float = 0,
        cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1,
        f_preproc: str = "",
        **options: Any,
    ) -> Callable[..., BenchmarkResult]:
        """Times a function of the program, a saved one, or "invoke_stateful"."""
        require_present(dev, "time_evaluator")
        function, place = self[func_name], dev or self.device

        def evaluate(*args: Any) -> BenchmarkResult:
            return time_function(
                function,
                args,
                number=number,
                repeat=repeat,
                min_repeat_ms=min_repeat_ms,
                cooldown_interval_ms=cooldown_interval_ms,
                repeats_to_cooldown=repeats_to_cooldown,
                device=place,
            )

        return evaluate


def _require_fitting(rt_mod: Module, device: Device) -> None:
    """Refuse the CPU for a module that was compiled for a GPU, and a GPU for one that was not."""
    for_gpu = rt_mod.runs_on_gpu
    if for_gpu is None or for_gpu == (device.type != "cpu"):
        return
    compiled = "a GPU" if for_gpu else "the CPU"
    hint = 'cuda(0) or device("cuda-emu")' if for_gpu else "cpu()"
    raise ValueError(
        f"VirtualMachine: the module was compiled for {compiled}, it cannot run on {device}; "
        f"give {hint}"
    )


_MISSING = object()


class _VMModule:
    """`vm.module`: the machine as a runtime module."""

    def __init__(self, vm: VirtualMachine) -> None:
        self._vm = vm
        self.time_evaluator = vm.time_evaluator

    def __getitem__(self, name: str) -> Callable[..., Any]:
        return self._vm[name]

    get_function = __getitem__


def _as_argument(value: Any) -> Any:
    """Arguments that are kept are copied, as TVM does, so that later changes do not show."""
    if isinstance(value, (np.ndarray, np.generic)):
        return tensor(value)
    if isinstance(value, (list, tuple)):
        return tuple(_as_argument(item) for item in value)
    return value


def _as_tuple(value: Any) -> Any:
    if isinstance(value, tvm_ffi.Array):
        return tuple(_as_tuple(item) for item in value)
    return value
