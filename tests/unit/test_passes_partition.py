"""The grouping of a dataflow graph, on graphs written down as edges."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relax_mlir.lowering.relax.graph_partition import Node, partition
from relax_mlir.lowering.relax.op_pattern import OpPatternKind as Kind

E, B, I = Kind.ELEMENTWISE, Kind.BROADCAST, Kind.INJECTIVE
R, A, T, O = Kind.COMM_REDUCE, Kind.OUT_ELEMENTWISE_FUSABLE, Kind.TUPLE, Kind.OPAQUE


def groups(
    patterns: Sequence[Kind],
    edges: Sequence[tuple[int, int]],
    external: Sequence[int] = (),
    depth: int = 256,
) -> list[int]:
    """The number of the group of every node; the last node always leaves the graph."""
    nodes = [Node(i, pattern) for i, pattern in enumerate(patterns)]
    for producer, consumer in edges:
        kind = patterns[consumer]
        nodes[producer].outputs.append((consumer, I if kind is T else kind))
    for index in {*external, len(nodes) - 1}:
        nodes[index].external = True
    roots = [group.root().index for group in partition(nodes, depth)]
    order = {root: number for number, root in enumerate(dict.fromkeys(roots))}
    return [order[root] for root in roots]


def chain(*patterns: Kind) -> list[int]:
    return groups(patterns, [(i, i + 1) for i in range(len(patterns) - 1)])


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ([E, E, E], [0, 0, 0]),
        ([A, E, E], [0, 0, 0]),  # an anchor and its epilogue
        ([A, B], [0, 1]),  # a broadcast is none
        ([A, I], [0, 1]),
        ([E, A], [0, 1]),  # nothing in front of one
        ([I, A], [0, 1]),
        ([A, A], [0, 1]),
        ([A, E, A, E], [0, 0, 1, 1]),
        ([E, R], [0, 0]),
        ([R, E], [0, 1]),  # nothing behind a reduction
        ([I, I, E], [0, 0, 0]),
        ([I, E, R], [0, 1, 1]),
        ([E, O], [0, 1]),
        ([O, E], [0, 1]),
    ],
)
def test_chains(patterns: list[Kind], expected: list[int]):
    assert chain(*patterns) == expected


def test_branches_meet_in_their_post_dominator():
    diamond = [(0, 1), (0, 2), (1, 3), (2, 3)]
    assert groups([E, E, E, E], diamond) == [0, 0, 0, 0]
    assert groups([A, E, E, E], diamond) == [0, 0, 0, 0]
    # One branch that cannot be fused keeps the whole apart.
    assert groups([E, O, E, E], diamond) == [0, 1, 2, 2]
    assert groups([A, R, E, E], diamond) == [0, 1, 2, 2]


def test_what_is_visible_outside_ends_a_group():
    assert groups([E, E, E], [(0, 1), (1, 2)], external=[1]) == [0, 0, 1]
    assert groups([A, E, E], [(0, 1), (1, 2)], external=[0]) == [0, 1, 1]


def test_dead_ends_dominate_nothing():
    # Node 1 has no reader: 0 has no post-dominator either.
    assert groups([E, E, E], [(0, 1), (0, 2)]) == [0, 1, 2]


def test_injective_operations_through_a_tuple():
    # 0, 1 -> tuple 2 -> injective 3: the tuple joins first, then what feeds it.
    edges = [(0, 2), (1, 2), (2, 3)]
    assert groups([I, E, T, I], edges) == [0, 0, 0, 0]
    assert groups([A, E, T, I], edges) == [0, 1, 1, 1]
    # A tuple that leaves the graph is not fused into.
    assert groups([E, E, T], edges[:2]) == [0, 1, 2]


def test_depth_bounds_the_size_of_a_group():
    edges = [(i, i + 1) for i in range(5)]
    assert groups([E] * 6, edges, depth=1) == [0, 1, 2, 3, 4, 5]
    for depth in range(2, 7):
        found = groups([E] * 6, edges, depth=depth)
        assert max(found.count(number) for number in found) <= depth


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Kind], list[tuple[int, int]], list[int]]:
    count = draw(st.integers(2, 12))
    patterns = draw(st.lists(st.sampled_from([E, B, I, R, A, O]), min_size=count, max_size=count))
    edges = [
        (draw(st.integers(0, consumer - 1)), consumer)
        for consumer in range(1, count)
        for _ in range(draw(st.integers(0, 2)))
    ]
    external = draw(st.lists(st.integers(0, count - 1), max_size=3))
    return patterns, sorted(set(edges)), external


@settings(deadline=None, max_examples=200)
@given(graphs())
def test_groups_can_be_functions(graph: tuple[list[Kind], list[tuple[int, int]], list[int]]):
    """Opaque operations are alone, an anchor is alone of its kind, groups do not wait for each
    other in a circle, and only one value leaves a group."""
    patterns, edges, external = graph
    found = groups(patterns, edges, external)
    outside = {*external, len(patterns) - 1}
    for number in set(found):
        members = [i for i, group in enumerate(found) if group == number]
        kinds = [patterns[i] for i in members]
        assert O not in kinds or len(kinds) == 1
        assert kinds.count(A) <= 1
        leaving = {
            i
            for i in members
            if i in outside or any(p == i and found[c] != number for p, c in edges)
        }
        assert len(leaving) <= 1 or len(members) == 1
    waits = {(found[p], found[c]) for p, c in edges if found[p] != found[c]}
    done: set[int] = set()
    while len(done) < len(set(found)):
        ready = {g for g in set(found) - done if all(a in done for a, b in waits if b == g)}
        assert ready, "groups wait for each other"
        done |= ready
