"""relax-update-vdevice."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.errors import PassError
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import relax_functions, walk
from relax_mlir.lowering.relax.vdevices import Place, move_all, names_of, position
from relax_mlir.mlir import ir

DESTINATION = "dst_vdevice"
"""The attribute of `relax.to_vdevice` and `relax.hint_on_device` that names a device."""


@register_pass("relax-update-vdevice")
@dataclass(frozen=True)
class UpdateVDevice(Pass):
    """Put the device `new` in the place of the module's virtual device at `index`.

    `vdevices` are the module's devices as `I.vdevice` prints them; what is on another one keeps it,
    also where its number among those of its kind changes.
    """

    vdevices: tuple[str, ...] = ()
    index: int = 0
    new: str = ""

    def run(self, state: ModuleState) -> None:
        if not self.new or not 0 <= self.index < len(self.vdevices):
            raise PassError(
                f"relax-update-vdevice: '{self.new}' cannot replace device {self.index} of "
                f"{len(self.vdevices)}",
                hint="options: vdevices=llvm:0:global,cuda:0:global index=1 new=metal:0:global",
            )
        for function in relax_functions(state):
            move_all(function, self._moved)
            for op in walk(function):
                if op.name == "relax.to_vdevice":
                    name = ir.StringAttr(op.attributes[DESTINATION]).value
                    op.attributes[DESTINATION] = ir.StringAttr.get(self._renamed(name))

    def _moved(self, place: Place) -> Place:
        return ("vdevice", self._renamed(place[1])) if place[:1] == ("vdevice",) else place

    def _renamed(self, name: str) -> str:
        after = [*self.vdevices]
        after[self.index] = self.new
        return names_of(after)[position(name, self.vdevices)]
