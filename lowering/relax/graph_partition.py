"""Grouping the operations of a dataflow graph for fusion.

An operation is fused towards its immediate post-dominator when every path between the two allows
it.  Three rounds: operations that take an elementwise epilogue (matmul, convolution) go first, then
injective chains, then injective operations into tuples.  The algorithm is that of TVM's
GraphPartitioner (Chen et al., "TVM: An Automated End-to-End Optimizing Compiler", OSDI 2018).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from relax_mlir.lowering.relax.op_pattern import OpPatternKind as Kind


@dataclass
class Node:
    """A vertex: the pattern of its operation, and the consumers of its result.

    `outputs` holds (index of the consumer, pattern of the edge).  An `external` result is visible
    outside the graph, so nothing can dominate it.
    """

    index: int
    pattern: Kind
    outputs: list[tuple[int, Kind]] = field(default_factory=list)
    external: bool = False


@dataclass
class Group:
    """A union-find set of nodes; the root holds what is known of the whole."""

    index: int
    pattern: Kind
    parent: Group | None = None
    size: int = 1
    anchor: int | None = None
    """The node with an elementwise-fusable output, at most one a group."""

    def root(self) -> Group:
        group = self
        while group.parent is not None:
            group = group.parent
        if group is not self:
            self.parent = group
        return group


@dataclass(frozen=True)
class _Dominator:
    """A node of the post-dominator tree; `pattern` is the largest on the way to `parent`."""

    parent: int | None
    depth: int
    pattern: Kind


def partition(nodes: Sequence[Node], max_depth: int, optimize: bool = True) -> list[Group]:
    """The group of every node.  `nodes` are in topological order; `max_depth` bounds the number of
    operations in a group."""
    groups = [
        Group(n.index, n.pattern, anchor=n.index if n.pattern is _ANCHOR else None) for n in nodes
    ]
    if optimize:
        partitioner = _Partitioner(nodes, groups, _post_dominators(nodes), max_depth)
        for round_ in (_fuse_mapping_ops, _fuse_injective_ops, _fuse_into_tuples):
            partitioner.run(round_)
    return groups


_ANCHOR = Kind.OUT_ELEMENTWISE_FUSABLE
_Condition = Callable[[Kind, bool], bool]


def _post_dominators(nodes: Sequence[Node]) -> list[_Dominator]:
    tree: list[_Dominator] = [_Dominator(None, 1, Kind.OPAQUE)] * len(nodes)
    for node in reversed(nodes):
        if node.external or not node.outputs:
            continue
        parent: int | None = node.outputs[0][0]
        pattern = node.outputs[0][1]
        for consumer, edge in node.outputs[1:]:
            parent, pattern = _common_ancestor(tree, parent, consumer, max(pattern, edge))
        depth = 1 if parent is None else tree[parent].depth + 1
        tree[node.index] = _Dominator(parent, depth, pattern)
    return tree


def _common_ancestor(
    tree: Sequence[_Dominator], left: int | None, right: int | None, pattern: Kind
) -> tuple[int | None, Kind]:
    while left != right:
        if left is None or right is None:
            return None, Kind.OPAQUE
        left_first = tree[left].depth >= tree[right].depth
        right_first = tree[right].depth >= tree[left].depth
        if left_first:
            pattern = max(pattern, tree[left].pattern)
            left = tree[left].parent
        if right_first:
            pattern = max(pattern, tree[right].pattern)
            right = tree[right].parent
    return left, pattern


class _Partitioner:
    def __init__(
        self,
        nodes: Sequence[Node],
        groups: Sequence[Group],
        tree: Sequence[_Dominator],
        max_depth: int,
    ) -> None:
        self.nodes = nodes
        self.groups = groups
        self.tree = tree
        self.max_depth = max_depth

    def run(self, rule: Callable[[_Partitioner, Node, int], None]) -> None:
        """Apply one round's rule to every node that has a post-dominator."""
        for node in self.nodes:
            parent = self.tree[node.index].parent
            if node.pattern is Kind.OPAQUE or parent is None:
                continue
            if self._size_with(node.index, parent) > self.max_depth:
                continue
            rule(self, node, parent)

    def group(self, index: int) -> Group:
        return self.groups[index].root()

    def path_allows(self, source: int, sink: int, condition: _Condition) -> bool:
        """True when every node between source and sink (and the sink) meets the condition."""
        return all(condition(self.group(i).pattern, i == sink) for i in self._between(source, sink))

    def merge_path(self, source: int, sink: int) -> None:
        """Put source, sink and everything between into one group."""
        target = self.group(sink)
        for index in {source, *self._between(source, sink)}:
            self._merge(self.group(index), target)

    def _between(self, source: int, sink: int) -> set[int]:
        seen: set[int] = set()
        pending = [consumer for consumer, _ in self.nodes[source].outputs]
        while pending:
            index = pending.pop()
            if index in seen:
                continue
            seen.add(index)
            if index != sink:
                pending.extend(consumer for consumer, _ in self.nodes[index].outputs)
        return seen

    def _merge(self, child: Group, parent: Group) -> None:
        if child is parent:
            return
        child.parent = parent
        parent.size += child.size
        # The result's pattern is that of the operation that decides how it is scheduled.
        if child.anchor is not None:
            parent.anchor = child.anchor
            parent.pattern = max(child.pattern, parent.pattern)

    def _size_with(self, source: int, sink: int) -> int:
        target = self.group(sink)
        merged = {id(target): target}
        for index in {source, *self._between(source, sink)}:
            group = self.group(index)
            merged[id(group)] = group
        return sum(group.size for group in merged.values())


def _fuse_mapping_ops(p: _Partitioner, node: Node, parent: int) -> None:
    """Round one: anchors take elementwise epilogues; elementwise and broadcast chains."""
    group = p.group(node.index)
    if group is p.group(parent) or p.group(parent).pattern is Kind.TUPLE:
        return
    edge = p.tree[node.index].pattern
    if group.pattern is _ANCHOR:
        if edge is Kind.ELEMENTWISE and p.path_allows(
            node.index, parent, lambda kind, _: kind <= Kind.BROADCAST
        ):
            p.merge_path(node.index, parent)
    elif group.pattern <= Kind.BROADCAST:
        if edge > Kind.INJECTIVE and edge is not Kind.COMM_REDUCE:
            return
        if p.path_allows(
            node.index,
            parent,
            lambda kind, is_sink: kind <= (_ANCHOR if is_sink else Kind.INJECTIVE),
        ):
            p.merge_path(node.index, parent)


def _fuse_injective_ops(p: _Partitioner, node: Node, parent: int) -> None:
    """Round two: as round one for chains, and injective chains."""
    group = p.group(node.index)
    if group is p.group(parent) or p.group(parent).pattern is Kind.TUPLE:
        return
    if group.pattern <= Kind.BROADCAST:
        _fuse_mapping_ops(p, node, parent)
    elif group.pattern in (Kind.INJECTIVE, Kind.TUPLE) and p.path_allows(
        node.index, parent, lambda kind, _: kind <= Kind.INJECTIVE
    ):
        p.merge_path(node.index, parent)


def _fuse_into_tuples(p: _Partitioner, node: Node, parent: int) -> None:
    """Round three: injective operations into a tuple that was itself fused into injective ones."""
    group, target = p.group(node.index), p.group(parent)
    if group.pattern > Kind.INJECTIVE or target.pattern is Kind.TUPLE:
        return
    is_fused_tuple = p.nodes[parent].pattern is Kind.TUPLE and target.pattern <= Kind.INJECTIVE
    if is_fused_tuple and p.path_allows(node.index, parent, lambda kind, _: kind <= Kind.INJECTIVE):
        p.merge_path(node.index, parent)
