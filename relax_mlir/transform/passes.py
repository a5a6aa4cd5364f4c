"""Pass objects: lowering passes, Python functions, and sequences of both."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from relax_mlir.errors import PassError
from relax_mlir.ir.function import BaseFunc
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering import passes as lowering_passes
from relax_mlir.lowering.pipeline import Pipeline
from relax_mlir.transform.context import PassContext


@dataclass(frozen=True)
class PassInfo:
    """A pass's name, the level from which a Sequential runs it, and the passes it needs first."""

    opt_level: int
    name: str
    required: tuple[str, ...] = field(default=())
    traceable: bool = False


class Pass:
    """A transformation of modules; `info` describes it."""

    info: PassInfo

    def __call__(self, mod: IRModule) -> IRModule:
        """The transformed module; `mod` stays as it is.

        Instruments of the current PassContext see the module before and after, and may skip the
        pass.
        """
        if not isinstance(mod, IRModule):
            raise TypeError(f"{self.info.name} is applied to an IRModule, not {type(mod).__name__}")
        context = PassContext.current()
        if not context.should_run(mod, self.info):
            return mod
        context.before_pass(mod, self.info)
        result = self.transform_module(mod, context)
        if not isinstance(result, IRModule):
            raise PassError(
                f"pass '{self.info.name}' returned a {type(result).__name__}, not an IRModule"
            )
        context.after_pass(result, self.info)
        return result

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """What the pass does; subclasses say.  Must not change `mod`."""
        raise TypeError(f"{type(self).__name__} does not define transform_module")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.info.name!r}, opt_level={self.info.opt_level})"


class LoweringPass(Pass):
    """A pass of `relax_mlir.lowering`, by TVM's name."""

    def __init__(self, name: str, implementation: lowering_passes.Pass, opt_level: int = 0):
        self.info = PassInfo(opt_level, name)
        self.implementation = implementation

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        result = mod.clone()
        Pipeline((self.implementation,)).run(result.state)
        return result

    def __str__(self) -> str:
        return str(self.implementation)


class PassPipeline(Pass):
    """Passes of ours and of MLIR given as pipeline text, `"relax-fuse-ops,canonicalize,cse"`."""

    def __init__(self, pipeline: str, opt_level: int = 0):
        self.pipeline = Pipeline.parse(pipeline).check()
        self.info = PassInfo(opt_level, str(self.pipeline))

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        result = mod.clone()
        self.pipeline.run(result.state)
        return result


class ModulePass(Pass):
    """A pass made from a Python function `(mod, ctx) -> mod`."""

    def __init__(self, transform: Callable[[IRModule, PassContext], IRModule], info: PassInfo):
        self.info = info
        self._transform = transform

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return self._transform(mod.clone(), ctx)


class FunctionPass(Pass):
    """A pass made from a Python function `(func, mod, ctx) -> func`, run on functions of a kind."""

    def __init__(
        self,
        transform: Callable[[Any, IRModule, PassContext], BaseFunc],
        info: PassInfo,
        kind: type[BaseFunc] = BaseFunc,
    ):
        self.info = info
        self.kind = kind
        self._transform = transform

    def transform_function(self, func: Any, mod: IRModule, ctx: PassContext) -> BaseFunc:
        return self._transform(func, mod, ctx)

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        result = mod.clone()
        for var, function in mod.functions.items():
            if not isinstance(function, self.kind):
                continue
            changed = self.transform_function(function, result, ctx)
            if not isinstance(changed, BaseFunc):
                raise PassError(
                    f"pass '{self.info.name}' returned a {type(changed).__name__} for "
                    f"'{var.name_hint}', not a function"
                )
            result.update_func(var, changed)
        return result.verify()


class Sequential(Pass):
    """Passes one after the other; see `PassContext` for which of them run."""

    def __init__(
        self,
        passes: Sequence[Callable[[IRModule], IRModule]] | None = None,
        opt_level: int = 0,
        name: str = "sequential",
        required: Sequence[str] | None = None,
        traceable: bool = False,
    ):
        self.passes = list(passes or [])
        for pass_ in self.passes:
            if not callable(pass_):
                raise TypeError(f"a Sequential holds passes, not {type(pass_).__name__}")
        self.info = PassInfo(opt_level, name, tuple(required or ()), traceable)

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        for pass_ in self.passes:
            info = getattr(pass_, "info", None)
            if isinstance(info, PassInfo) and not ctx.pass_enabled(info):
                continue
            mod = pass_(mod)
        return mod


def PrintIR(header: str = "", show_metadata: bool = False) -> Pass:
    """A pass that prints the module as TVMScript under a header line."""

    def transform(mod: IRModule, ctx: PassContext) -> IRModule:
        print(f"PrintIR({header}):\n{mod.script()}" if header else mod.script())  # noqa: T201
        return mod

    return ModulePass(transform, PassInfo(0, "PrintIR"))


def ApplyPassToFunction(
    transform: Pass, func_name_regex: str, error_if_no_function_matches_regex: bool = False
) -> Pass:
    """Run a pass on the functions whose whole name matches; the others stay as they are."""
    import re

    pattern = re.compile(func_name_regex)

    def apply(mod: IRModule, ctx: PassContext) -> IRModule:
        chosen = [v for v in mod.functions if pattern.fullmatch(v.name_hint)]
        if not chosen and error_if_no_function_matches_regex:
            raise PassError(f"no function matches '{func_name_regex}'")
        part = mod.clone()
        for var in mod.functions:
            if var not in chosen:
                part.remove(var)
        result = mod.clone()
        changed = transform(part)
        for var in chosen:
            if var not in changed:
                result.remove(var)
        result.update(changed)
        return result

    return ModulePass(apply, PassInfo(0, "ApplyPassToFunction"))


# -- decorators -------------------------------------------------------------------------------


def make_decorator(
    method: str, build: Callable[[Callable[..., Any], PassInfo], Pass]
) -> Callable[..., Any]:
    """The decorator for passes written in Python: of a function, or of a class with `method`.

    It is used as `@decorator(opt_level=0)` or called with the function first.
    """

    def decorator(
        pass_func: Any = None,
        opt_level: int | None = None,
        name: str | None = None,
        required: Sequence[str] | None = None,
        traceable: bool = False,
    ) -> Any:
        if pass_func is None:
            return partial(
                decorator, opt_level=opt_level, name=name, required=required, traceable=traceable
            )
        if opt_level is None:
            raise ValueError("give the pass an opt_level")
        info = PassInfo(opt_level, name or pass_func.__name__, tuple(required or ()), traceable)
        if inspect.isclass(pass_func):
            return _pass_class(pass_func, method, build, info)
        if not callable(pass_func):
            raise TypeError("a pass is made from a function or a class")
        return build(pass_func, info)

    return decorator


def _pass_class(
    cls: type, method: str, build: Callable[[Callable[..., Any], PassInfo], Pass], info: PassInfo
) -> type:
    """A class whose instances are passes that run the method of an instance of `cls`."""
    if not callable(getattr(cls, method, None)):
        raise TypeError(f"{cls.__name__} has no method '{method}'")

    class PyPass(Pass):
        def __init__(self, *arguments: Any, **keywords: Any):
            self.info = info
            self._instance = cls(*arguments, **keywords)
            self._pass = build(getattr(self._instance, method), info)

        def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
            return self._pass.transform_module(mod, ctx)

        def __getattr__(self, name: str) -> Any:
            # Only for what the pass itself lacks; _instance is missing while unpickling.
            if name.startswith("_"):
                raise AttributeError(name)
            return getattr(self._instance, name)

    PyPass.__name__ = PyPass.__qualname__ = cls.__name__
    PyPass.__doc__ = cls.__doc__
    PyPass.__module__ = cls.__module__
    return PyPass


module_pass = make_decorator("transform_module", ModulePass)
"""Decorator: a module pass from `def transform_module(mod, ctx) -> mod` or a class with it."""
