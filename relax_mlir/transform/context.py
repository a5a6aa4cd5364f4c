"""PassContext: what passes are run with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING, Any

from relax_mlir.errors import PassError

if TYPE_CHECKING:
    from relax_mlir.ir.module import IRModule
    from relax_mlir.transform.passes import PassInfo

_STACK: ContextVar[tuple[PassContext, ...]] = ContextVar("pass contexts", default=())


class PassContext:
    """The optimisation level, the passes to leave out or insist on, options and instruments.

    Used as `with PassContext(opt_level=3, disabled_pass=["FuseOps"], instruments=[...]):`.  A
    `Sequential` leaves out passes above the level and disabled ones, and runs the required ones at
    any level.  `config` is a dictionary that passes may read.
    """

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Iterable[str] | None = None,
        disabled_pass: Iterable[str] | None = None,
        instruments: Iterable[Any] | None = None,
        config: Mapping[str, Any] | None = None,
        trace: Any = None,
        trace_stack: Any = None,
        make_traceable: Any = None,
        num_evals: int = 0,
        tuning_api_database: Any = None,
    ):
        self.opt_level = opt_level
        self.required_pass = list(required_pass or [])
        self.disabled_pass = list(disabled_pass or [])
        self.instruments = list(instruments or [])
        self.config = dict(config or {})
        self.trace = trace
        self.trace_stack = list(trace_stack or [])
        self.make_traceable = make_traceable
        self.num_evals = num_evals
        self.tuning_api_database = tuning_api_database

    def __enter__(self) -> PassContext:
        for instrument in self.instruments:
            _notify(instrument, "enter_pass_ctx")
        _STACK.set((*_STACK.get(), self))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _STACK.set(_STACK.get()[:-1])
        for instrument in self.instruments:
            _notify(instrument, "exit_pass_ctx")

    @staticmethod
    def current() -> PassContext:
        """The innermost context, or a default one."""
        stack = _STACK.get()
        return stack[-1] if stack else _DEFAULT

    @staticmethod
    def list_configs() -> dict[str, Any]:
        """The options that passes read from `config`; other keys are kept and ignored."""
        return {}

    @staticmethod
    def list_config_names() -> list[str]:
        return list(PassContext.list_configs())

    def override_instruments(self, instruments: Iterable[Any]) -> None:
        """Leave the present instruments and enter new ones."""
        for instrument in self.instruments:
            _notify(instrument, "exit_pass_ctx")
        self.instruments = list(instruments)
        for instrument in self.instruments:
            _notify(instrument, "enter_pass_ctx")

    def pass_enabled(self, info: PassInfo) -> bool:
        """True when a Sequential should run the pass."""
        if info.name in self.disabled_pass:
            return False
        return info.name in self.required_pass or self.opt_level >= info.opt_level

    # -- instruments --------------------------------------------------------------------------

    def should_run(self, module: IRModule, info: PassInfo) -> bool:
        """Asks every instrument; one that says no skips the pass."""
        answers = [_notify(i, "should_run", module, info) for i in self.instruments]
        return all(answer is None or bool(answer) for answer in answers)

    def before_pass(self, module: IRModule, info: PassInfo) -> None:
        for instrument in self.instruments:
            _notify(instrument, "run_before_pass", module, info)

    def after_pass(self, module: IRModule, info: PassInfo) -> None:
        for instrument in self.instruments:
            _notify(instrument, "run_after_pass", module, info)


def _notify(instrument: Any, event: str, *arguments: Any) -> Any:
    handler = getattr(instrument, event, None)
    if handler is None:
        return None
    if not callable(handler):
        raise PassError(f"instrument {instrument!r}: '{event}' is not a method")
    return handler(*arguments)


_DEFAULT = PassContext()
