"""Loads and stores of a vectorised body.

An access whose last index moves by one from lane to lane, and whose others do not move, is a
`vector.load` or `vector.store` (`maskedload`, `maskedstore` under a mask).  One that does not move
at all is a scalar load.  Any other is a `vector.gather` or `vector.scatter` from the buffer's
start.  Nothing is read or written for lanes that are masked off.

A GPU's threads have neither masks nor gathers: where one is needed, lanes stay iterations.
"""

from __future__ import annotations

from relax_mlir.lowering.tir.buffer_names import is_allocated
from relax_mlir.lowering.tir_to_scf.lane_dependences import LaneAccess
from relax_mlir.lowering.tir_to_scf.lane_values import CannotVectorize, LaneValues
from relax_mlir.lowering.tir_to_scf.lanes import LaneForm
from relax_mlir.mlir import arith, dynamic, ir, memref, vector
from relax_mlir.tir.math_ops import constant_attribute
from relax_mlir.tir.schedule.index import Index, as_index, leaf

__all__ = ["VectorAccess"]

_VIEWS = ("memref.subview", "memref.cast", "memref.reinterpret_cast", "memref.collapse_shape",
          "memref.expand_shape", "memref.view", "memref.reshape")  # fmt: skip


class VectorAccess:
    """Emits accesses and remembers them in `found`; `depth` counts the inner loops around.

    `dense` allows only accesses of all lanes to elements that follow each other.
    """

    def __init__(self, values: LaneValues, *, dense: bool = False) -> None:
        self.values = values
        self.dense = dense
        self.found: list[LaneAccess] = []
        self.depth = 0

    def load(self, op: ir.Operation) -> None:
        buffer, indices, forms = self._access(op.operands[0], list(op.operands)[1:], False)
        values, result = self.values, op.results[0]
        if all(form is not None and form.stride == 0 for form in forms):
            if values.mask is None or _is_inside(buffer, indices):
                loaded = memref.load(buffer, self._bases(forms))
                values.define_scalar(result, loaded)
                return
        elif _is_contiguous(buffer, forms):
            values.define_vector(result, self._load_contiguous(buffer, forms, result.type))
            return
        self._require_sparse()
        kind = values.vector_type(result.type)
        gathered = vector.gather(
            kind, buffer, self._origin(buffer), self._offsets(buffer, indices),
            self._mask(), self._zero(kind),
        )  # fmt: skip
        values.define_vector(result, gathered)

    def store(self, op: ir.Operation) -> None:
        operands = list(op.operands)
        buffer, indices, forms = self._access(operands[1], operands[2:], True)
        value, mask = self.values.vector(operands[0]), self.values.mask
        if _is_contiguous(buffer, forms):
            if mask is None:
                made = vector.StoreOp(value, buffer, self._bases(forms)).operation
                for name in op.attributes:  # what a store is marked with
                    made.attributes[name] = op.attributes[name]
            else:
                self._require_sparse()
                vector.MaskedStoreOp(buffer, self._bases(forms), mask, value)
            return
        self._require_sparse()
        ir.Operation.create(
            "vector.scatter",
            operands=[buffer, *self._origin(buffer), self._offsets(buffer, indices),
                      self._mask(), value],
        )  # fmt: skip

    def _require_sparse(self) -> None:
        if self.dense:
            raise CannotVectorize("an access of some lanes, or to elements that are apart")

    # -- what is accessed ---------------------------------------------------------------------

    def _access(
        self, operand: ir.Value, operands: list[ir.Value], is_store: bool
    ) -> tuple[ir.Value, list[Index], list[LaneForm | None]]:
        values = self.values
        buffer, private = values.buffer(operand)
        indices = [values.index(value) for value in operands]
        if private:
            indices.append(leaf(values.lane))
        forms = [values.form(index) for index in indices]
        access = LaneAccess(
            _root(operand), operand, tuple(indices), tuple(forms), is_store, self.depth > 0
        )
        self.found.append(access)
        return buffer, indices, forms

    def _bases(self, forms: list[LaneForm | None]) -> list[ir.Value]:
        return [self.values.write(form.base) for form in forms if form is not None]

    # -- emitting -----------------------------------------------------------------------------

    def _load_contiguous(
        self, buffer: ir.Value, forms: list[LaneForm | None], element: ir.Type
    ) -> ir.Value:
        kind, mask = self.values.vector_type(element), self.values.mask
        if mask is None:
            return vector.LoadOp(kind, buffer, self._bases(forms)).result
        self._require_sparse()
        return vector.maskedload(kind, buffer, self._bases(forms), mask, self._zero(kind))

    def _mask(self) -> ir.Value:
        if self.values.mask is not None:
            return self.values.mask
        kind = self.values.vector_type(ir.IntegerType.get_signless(1))
        return arith.constant(kind, constant_attribute(kind, 1))

    def _zero(self, kind: ir.VectorType) -> ir.Value:
        return arith.constant(kind, constant_attribute(kind, 0))

    def _origin(self, buffer: ir.Value) -> list[ir.Value]:
        rank = ir.MemRefType(buffer.type).rank
        return [arith.constant(ir.IndexType.get(), 0) for _ in range(rank)]

    def _offsets(self, buffer: ir.Value, indices: list[Index]) -> ir.Value:
        """How far each lane's element is from the buffer's first, in elements."""
        strides = _strides(buffer)
        total: ir.Value | None = None
        constant = Index()
        for index, stride in zip(indices, strides, strict=True):
            known = stride.as_constant()
            if known is not None:
                constant = constant + index * known
                continue
            term = self.values.vector_of(index)
            scale = self.values.broadcast(self.values.write(stride))
            term = arith.muli(term, scale)
            total = term if total is None else arith.addi(total, term)
        rest = self.values.vector_of(constant)
        return rest if total is None else arith.addi(total, rest)


def _root(buffer: ir.Value) -> ir.Value:
    """The buffer that a view is of."""
    owner = buffer.owner
    while not isinstance(owner, ir.Block) and owner.operation.name in _VIEWS:
        buffer = owner.operation.operands[0]
        owner = buffer.owner
    if not isinstance(owner, ir.Block) and not is_allocated(buffer):
        raise CannotVectorize("a buffer that may be another one under a second name")
    return buffer


def _is_contiguous(buffer: ir.Value, forms: list[LaneForm | None]) -> bool:
    if not forms or any(form is None for form in forms):
        return False
    strides, _ = ir.MemRefType(buffer.type).get_strides_and_offset()
    moves = [form.stride for form in forms if form is not None]
    return moves[-1] == 1 and not any(moves[:-1]) and strides[-1] == 1


def _is_inside(buffer: ir.Value, indices: list[Index]) -> bool:
    """Whether an access is inside of the buffer by the ranges of its indices."""
    for index, size in zip(indices, ir.MemRefType(buffer.type).shape, strict=True):
        low, high = index.bounds()
        if low is None or high is None or low < 0 or size == dynamic() or high >= size:
            return False
    return True


def _strides(buffer: ir.Value) -> list[Index]:
    """Strides of a buffer, those of a dense one of unknown sizes computed from its sizes."""
    kind = ir.MemRefType(buffer.type)
    strides, _ = kind.get_strides_and_offset()
    if strides and strides[-1] != 1:
        raise CannotVectorize("gathering from a buffer whose last dimension has a stride")
    result: list[Index] = []
    for axis, stride in enumerate(strides):
        if stride != dynamic():
            result.append(Index({}, stride))
            continue
        if not isinstance(kind.layout, ir.AffineMapAttr) or not _is_identity(kind):
            raise CannotVectorize("gathering from a buffer with strides of unknown size")
        product = Index({}, 1)
        for inner in range(axis + 1, kind.rank):
            size = kind.shape[inner]
            product = product * (
                as_index(size)
                if size != dynamic()
                else leaf(memref.dim(buffer, arith.constant(ir.IndexType.get(), inner)))
            )
        result.append(product)
    return result


def _is_identity(kind: ir.MemRefType) -> bool:
    return kind.affine_map == ir.AffineMap.get_identity(kind.rank)
