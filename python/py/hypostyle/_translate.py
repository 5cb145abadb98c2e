"""Translates expressions of polars and pyarrow into filters.

A translation is exact or does not happen: ``expression`` raises ``TypeError`` then. ``wider``
translates what it can of a conjunction, for callers that filter the rows themselves.
"""

from __future__ import annotations

import json
import math
import operator
from typing import Any

from ._hypostyle import Expr, Schema, col, lit


def expression(value: Any, schema: Schema) -> Expr:
    """Translates an expression; raises TypeError if that is not possible."""
    try:
        module = type(value).__module__
        if module.startswith("polars"):
            return _polars(_polars_tree(value))
        if module.startswith("pyarrow"):
            from ._substrait import translate

            return translate(value, schema)
    except NotImplementedError as err:
        raise TypeError(f"the expression cannot be translated into a filter: {err}") from None
    raise TypeError(
        f"expected a text, an expression of hypostyle.col, polars or pyarrow, not `{type(value).__name__}`"
    )


def wider(value: Any) -> Expr | None:
    """Returns a condition that all rows fulfil which fulfil a polars expression, if there is one."""
    try:
        return _wider(_polars_tree(value))
    except NotImplementedError:
        return None


def column(name: str) -> Expr:
    """Returns a column; its name must not be taken for a path into a nested one."""
    if not name or any(it in name for it in '.[]"'):
        raise NotImplementedError("a column name with the characters of a path")
    return col(name)


def _polars_tree(value: Any) -> Any:
    try:
        return json.loads(value.meta.serialize(format="json"))
    except Exception as err:  # a Python function in the expression cannot be serialized
        raise NotImplementedError(str(err)) from None


_COMPARISONS = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtEq": operator.le,
    "Gt": operator.gt,
    "GtEq": operator.ge,
}
_LOGIC = {"And": operator.and_, "LogicalAnd": operator.and_, "Or": operator.or_, "LogicalOr": operator.or_}


def _wider(tree: Any) -> Expr | None:
    operation = tree.get("BinaryExpr") if isinstance(tree, dict) else None
    if operation and operation["op"] in ("And", "LogicalAnd"):
        left, right = _wider(operation["left"]), _wider(operation["right"])
        if left is None or right is None:
            return left if right is None else right
        return left & right
    try:
        return _polars(tree)
    except NotImplementedError:
        return None


def _polars(tree: Any) -> Expr:
    if not isinstance(tree, dict) or len(tree) != 1:
        raise NotImplementedError(str(tree)[:80])
    (kind, body), = tree.items()
    if kind == "BinaryExpr":
        left, right, op = body["left"], body["right"], body["op"]
        if op in _LOGIC:
            return _LOGIC[op](_polars(left), _polars(right))
        if op in _COMPARISONS:
            left, right = _without_widening(left, right), _without_widening(right, left)
            return _COMPARISONS[op](_value(left), _value(right))
    if kind == "Function":
        function, inputs = body["function"], body["input"]
        boolean = function.get("Boolean") if isinstance(function, dict) else None
        if boolean == "IsNull":
            return _value(inputs[0]).is_null()
        if boolean == "IsNotNull":
            return _value(inputs[0]).is_not_null()
        if boolean == "Not":
            return ~_polars(inputs[0])
        if isinstance(boolean, dict) and "IsBetween" in boolean:
            value, low, high = (_value(it) for it in inputs)
            closed = boolean["IsBetween"]["closed"]
            above = value >= low if closed in ("Both", "Left") else value > low
            below = value <= high if closed in ("Both", "Right") else value < high
            return above & below
        text = function.get("StringExpr") if isinstance(function, dict) else None
        if text in ("StartsWith", "EndsWith"):
            needle = _literal(inputs[1])
            if not isinstance(needle, str) or any(it in needle for it in "%_\\"):
                raise NotImplementedError("a pattern with wildcards")
            return _value(inputs[0]).like(needle + "%" if text == "StartsWith" else "%" + needle)
    if kind == "Column":
        # A column of booleans by itself.
        return _value(tree) == True  # noqa: E712
    raise NotImplementedError(kind)


def _without_widening(tree: Any, other: Any) -> Any:
    """Returns the column of a cast that polars adds to compare it with a number.

    All integers compare with a number below 2**53 as their floats do. The library refuses to
    compare columns that are no numbers with one, so that the type of the column need not be known.
    """
    cast = tree.get("Cast") if isinstance(tree, dict) else None
    if not cast or not isinstance(cast.get("expr"), dict) or "Column" not in cast["expr"]:
        return tree
    if not _is_number(cast.get("dtype")):
        return tree
    number = _literal(other)
    is_safe = isinstance(number, (int, float)) and not isinstance(number, bool) and abs(number) < 2**53
    return cast["expr"] if is_safe else tree


def _is_number(dtype: Any) -> bool:
    name = dtype.get("Literal") if isinstance(dtype, dict) else dtype
    return name in ("Int64", "Int128", "Float64")


def _value(tree: Any) -> Expr:
    if isinstance(tree, dict) and "Column" in tree:
        return column(tree["Column"])
    return lit(_literal(tree))


def _literal(tree: Any) -> Any:
    if not isinstance(tree, dict) or "Literal" not in tree:
        raise NotImplementedError(str(tree)[:80])
    literal = tree["Literal"]
    for outer in ("Scalar", "Dyn"):
        if isinstance(literal, dict) and outer in literal:
            literal = literal[outer]
    if not isinstance(literal, dict) or len(literal) != 1:
        raise NotImplementedError(str(literal)[:80])
    (kind, value), = literal.items()
    # Infinities and NaN are written as null, and cannot be told apart.
    if kind.startswith(("Int", "UInt")) and isinstance(value, int):
        return value
    if kind.startswith("Float") and isinstance(value, (int, float)) and math.isfinite(value):
        return float(value)
    if kind in ("String", "StringOwned", "Str") and isinstance(value, str):
        return value
    if kind == "Boolean" and isinstance(value, bool):
        return value
    raise NotImplementedError(kind)
