"""Checks one program: it parses, verifies, and comes back from both texts as it was."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Outcome:
    """`stage` is "ok", "closure" (a name of the program cannot be found), "refused" (it failed, and
    its file says that it is not well-formed), or where it failed: "parse", "verify", "mlir",
    "script"."""

    stage: str
    message: str = ""

    @property
    def reason(self) -> str:
        """The first line of the message, with what differs between programs taken out."""
        line = self.message.strip().splitlines()[0] if self.message.strip() else ""
        line = re.sub(r"^.*?:\d+:\d+: (error: )?", "", line)
        line = re.sub(r"0x[0-9a-f]+", "#", line)
        return re.sub(r"\b\d+\b", "#", line)[:150]


def check(text: str, record: Mapping[str, Any], repositories: Mapping[str, str]) -> Outcome:
    """Run one program."""
    from relax_mlir.errors import Error
    from relax_mlir.script import from_source
    from tools.corpus.closures import Unresolved, resolve

    try:
        names = resolve(record, repositories)
    except Unresolved as error:
        return Outcome("closure", str(error))
    while True:
        try:
            module = as_module(from_source(text, names, file=record["path"]))
        except Error as error:
            more = _missed(str(error), names, record, repositories)
            if not more:
                return _explained(Outcome("parse", str(error)), record, repositories)
            names |= more
        else:
            return _explained(round_trips(module), record, repositories)


def _missed(
    message: str,
    names: Mapping[str, Any],
    record: Mapping[str, Any],
    repositories: Mapping[str, str],
) -> dict[str, Any]:
    """The value of a name that the record does not list, as another function of the program has a
    parameter or variable called so."""
    from tools.corpus.closures import Unresolved, resolve

    missing = re.search(r": name '(\w+)' is not defined", message)
    if missing is None or missing[1] in names:
        return {}
    try:
        return resolve({**record, "free": [missing[1]]}, repositories)
    except Unresolved:
        return {}


def _explained(
    outcome: Outcome, record: Mapping[str, Any], repositories: Mapping[str, str]
) -> Outcome:
    """The outcome, or why a failure is none of the parser's: the file extends TVMScript itself, or
    says that TVM finds the program ill-formed."""
    from tools.corpus.closures import Unresolved, file_of, registered_names
    from tools.corpus.records import is_called_ill_formed

    if outcome.stage == "ok":
        return outcome
    try:
        tree = file_of(record, repositories)
    except Unresolved:
        return outcome
    missing = re.search(r"\bT has no '(\w+)'", outcome.message)
    if missing and missing[1] in registered_names(tree):
        return Outcome("closure", f"the file itself adds {missing[1]} to TVMScript")
    if is_called_ill_formed(record, tree):
        return Outcome("refused", outcome.message)
    return outcome


def as_module(program: Any) -> Any:
    """A module, whether the program is one or a function."""
    from relax_mlir.ir.module import IRModule

    return program if isinstance(program, IRModule) else IRModule({program.name: program})


def round_trips(module: Any) -> Outcome:
    """Verify, and go through both texts."""
    from relax_mlir.errors import Error
    from relax_mlir.ir.module import IRModule
    from relax_mlir.script import from_source
    from relax_mlir.script.printer.relax import metadata_of

    stage = "verify"
    try:
        module.verify()
        stage = "mlir"
        text = module.mlir()
        again = IRModule.parse(text, module.state.constants)
        again.verify()
        # MLIR numbers equal names; the numbers are names from the second text on.
        numbered = again.mlir()
        third = IRModule.parse(numbered, module.state.constants)
        if again != module or third.mlir() != numbered:
            return Outcome(stage, "differs: " + difference(text, numbered))
        stage = "script"
        script = module.script()
        metadata = metadata_of(module) if "metadata[" in script else {}
        read = as_module(from_source(script, {"metadata": metadata}))
        if read.script() != script:
            return Outcome(stage, "not a fixpoint: " + difference(script, read.script()))
        if read != module:
            return Outcome(stage, "differs: " + difference(module.mlir(), read.mlir()))
    except Error as error:
        return Outcome(stage, str(error))
    return Outcome("ok")


def difference(before: str, after: str) -> str:
    """The first line in which two texts differ."""
    first, second = before.splitlines(), after.splitlines()
    for one, other in zip(first, second, strict=False):
        if one != other:
            return f"{one.strip()} / {other.strip()}"
    longer = first if len(first) > len(second) else second
    rest = longer[min(len(first), len(second)) :]
    return f"{len(first)} lines / {len(second)} lines: {rest[0].strip() if rest else ''}"
