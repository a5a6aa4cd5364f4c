"""torch.cond, while_loop and scan: the graphs they call become private Relax functions.

`cond` is an `if` that calls one of two functions.  `while_loop` is a function that calls itself
after each round.  `scan`, whose number of rounds is a size, calls its function once for each.
Relax has no dataflow blocks around control flow, so a graph that contains any is built without, and
`ConvertToDataflow` finds the blocks afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from relax_mlir.errors import Error
from relax_mlir.relax.frontend.torch.importer import Converter, Importer

if TYPE_CHECKING:
    from torch import fx

__all__ = ["CONTROL_FLOW", "has_control_flow", "import_subgraphs"]


def import_subgraphs(importer: Any, graph_module: Any) -> None:
    """Make functions of the graphs that the control flow of a graph refers to."""
    for node in graph_module.graph.nodes:
        name = _operator(node)
        if name not in CONTROL_FLOW:
            continue
        graphs = [getattr(graph_module, arg.target) for arg in node.args if _is_graph(arg)]
        names = [arg.target for arg in node.args if _is_graph(arg)]
        for graph, hint in zip(graphs, names, strict=True):
            importer.subgraphs[id(graph)] = importer.import_function(hint, graph)
        if name == "while_loop":
            importer.subgraphs[id(node)] = _loop(importer, node, *graphs)


def has_control_flow(graph: fx.Graph) -> bool:
    """Whether a graph calls `cond`, `while_loop` or `scan`."""
    return any(_operator(node) in CONTROL_FLOW for node in graph.nodes)


def _operator(node: Any) -> str:
    return str(node.target) if node.op == "call_function" else ""


def _is_graph(argument: Any) -> bool:
    return getattr(argument, "op", None) == "get_attr"


# -- while_loop -----------------------------------------------------------------------------------


def _loop(importer: Any, node: Any, condition: Any, body: Any) -> Any:
    """The function `loop(carried..., additional...)`, which gives the carried values at the end."""
    relax, builder = importer.relax, importer.block_builder
    carried, count = node.args[2], len(node.args[2])
    examples = [n for n in condition.graph.nodes if n.op == "placeholder"]
    name = builder.get_unique_name(node.name)

    def parameters() -> list[Any]:
        made = [importer.variable(example) for example in examples]
        if not all(importer.is_tensor(variable) for variable in made):
            raise Error(f"while_loop '{node.name}': numbers among {list(carried)} are not carried")
        return made

    def define(result: Callable[[list[Any]], Any]) -> None:
        variables = parameters()
        with builder.function(name, variables, private=True):
            builder.emit_func_output(builder.emit(result(variables)))

    def choose(variables: list[Any]) -> Any:
        going_on = builder.emit(relax.Call(importer.subgraphs[id(condition)], variables))
        if isinstance(going_on.struct_info, relax.TupleStructInfo):
            going_on = builder.emit(relax.TupleGetItem(going_on, 0))
        # The call of the next round is the last thing the function does: it takes no stack.
        values = relax.Call(importer.subgraphs[id(body)], variables)
        results = relax.Var("carried", builder.get()[body_name].ret_struct_info)
        bindings = [relax.VarBinding(results, values)]
        fields = [results]
        if isinstance(results.struct_info, relax.TupleStructInfo):
            kinds = results.struct_info.fields
            fields = [relax.Var(f"carried_{i}", kind) for i, kind in enumerate(kinds)]
            bindings += [
                relax.VarBinding(field, relax.TupleGetItem(results, i))
                for i, field in enumerate(fields)
            ]
        end = relax.Var("end", builder.get()[name].ret_struct_info)
        again = relax.Call(whole, [*fields, *variables[count:]])
        bindings.append(relax.VarBinding(end, again))
        next_round = relax.SeqExpr([relax.BindingBlock(bindings)], end)
        return relax.If(going_on, next_round, relax.Tuple(variables[:count]))

    body_name = importer.subgraphs[id(body)].name_hint
    # Known by its type before it is defined, since it calls itself.
    define(lambda variables: relax.Tuple(variables[:count]))
    whole = builder.get().get_global_var(name)
    define(choose)
    return whole


# -- converters -----------------------------------------------------------------------------------


def cond(imp: Any, predicate: Any, true: Any, false: Any, operands: Sequence[Any] = ()) -> Any:
    relax = imp.relax
    if not imp.is_tensor(predicate):  # known while exporting
        chosen = true if predicate else false
        return _fields(imp, relax.Call(imp.subgraphs[id(chosen)], list(operands)))
    predicate = imp.cast(predicate, "bool")
    if imp.ndim(predicate):
        predicate = imp.emit(imp.op.reshape(predicate, []))
    branches = [relax.Call(imp.subgraphs[id(graph)], list(operands)) for graph in (true, false)]
    return _fields(imp, relax.If(predicate, *branches))


def while_loop(
    imp: Any, condition: Any, body: Any, carried: Sequence[Any], additional: Sequence[Any] = ()
) -> Any:
    call = imp.relax.Call(imp.subgraphs[id(imp.current_node)], [*carried, *additional])
    return _fields(imp, call)


def scan(
    imp: Any,
    combine: Any,
    init: Sequence[Any],
    xs: Sequence[Any],
    additional: Sequence[Any] = (),
) -> Any:
    """The final carried values and, for each other result, the rounds' values stacked."""
    rounds = imp.shape_of(xs[0])[0]
    if not isinstance(rounds, int):
        raise Error(f"scan over a dimension of unknown size '{rounds}': export it with a fixed one")
    state, collected = list(init), []
    for index in range(rounds):
        number = imp.relax.const(index, "int64")
        slices = [imp.emit(imp.op.take(x, number, axis=0)) for x in xs]
        call = imp.relax.Call(imp.subgraphs[id(combine)], [*state, *slices, *additional])
        results = _fields(imp, call)
        state = results[: len(init)]
        collected.append(results[len(init) :])
    columns = zip(*collected, strict=True)
    stacked = [imp.emit(imp.op.stack(list(values), axis=0)) for values in columns]
    return [*state, *stacked]


def _fields(imp: Importer, expr: Any) -> list[Any]:
    bound = imp.emit(expr)
    if not isinstance(bound.struct_info, imp.relax.TupleStructInfo):
        return [bound]
    return [
        imp.emit(imp.relax.TupleGetItem(bound, i)) for i in range(len(bound.struct_info.fields))
    ]


CONTROL_FLOW: dict[str, Converter] = {"cond": cond, "while_loop": while_loop, "scan": scan}
