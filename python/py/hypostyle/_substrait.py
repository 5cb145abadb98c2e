"""Translates pyarrow expressions, which only their Substrait form lets one read.

The form is a protocol buffer. This module reads the few fields that conditions on columns use, and
raises ``NotImplementedError`` for all others.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Iterator
from typing import Any

from ._hypostyle import Expr, Schema, lit
from ._translate import column

_COMPARISONS = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "lt": operator.lt,
    "lte": operator.le,
    "gt": operator.gt,
    "gte": operator.ge,
}


def translate(value: Any, schema: Schema) -> Expr:
    """Translates a pyarrow expression on a table with this schema."""
    import pyarrow

    fields = pyarrow.schema(schema)
    try:
        message = bytes(value.to_substrait(fields))
    except pyarrow.ArrowException as err:
        raise NotImplementedError(str(err)) from None
    functions, trees = {}, []
    for number, content in _fields(message):
        if number == 2:  # extensions: SimpleExtensionDeclaration
            for kind, declared in _fields(content):
                if kind == 3:  # extension_function
                    found = dict(_fields(declared))
                    functions[found.get(2, 0)] = found[3].decode()
        elif number == 3:  # referred_expr: ExpressionReference
            trees += [it for kind, it in _fields(content) if kind == 1]
    if len(trees) != 1:
        raise NotImplementedError("not one expression")
    return _Translation(functions, schema).condition(trees[0], is_negated=False)


class _Translation:
    def __init__(self, functions: dict[int, str], schema: Schema) -> None:
        self.functions = functions
        self.names = schema.names
        self.is_float = [it.startswith("Float") for it in schema.types]

    def condition(self, tree: bytes, is_negated: bool) -> Expr:
        kind, body = _one(tree)
        if kind == 3:  # scalar_function
            name, arguments = self.function(body)
            if name in ("and", "or"):
                conditions = [self.condition(it, is_negated) for it in arguments]
                result = conditions[0]
                for other in conditions[1:]:
                    result = result & other if name == "and" else result | other
                return result
            if name == "not":
                return ~self.condition(arguments[0], True)
            if name in _COMPARISONS:
                return self.comparison(name, arguments[0], arguments[1])
            if name in ("is_null", "is_not_null"):
                value = self.value(arguments[0])
                return value.is_null() if name == "is_null" else value.is_not_null()
            raise NotImplementedError(name)
        if kind == 8:  # singular_or_list
            if is_negated:
                # pyarrow says that null is not in a list, SQL does not know.
                raise NotImplementedError("not in a list")
            value, options = None, []
            for number, content in _fields(body):
                if number == 1:
                    value = self.value(content)
                elif number == 2:
                    options.append(self.value(content))
            if value is None:
                raise NotImplementedError("a list without a value")
            return value.is_in(options)
        if kind == 2:  # selection
            return self.value(tree) == True  # noqa: E712
        raise NotImplementedError(f"expression {kind}")

    def comparison(self, name: str, left: bytes, right: bytes) -> Expr:
        """Compares as pyarrow does: NaN is neither less nor greater than anything.

        The library sorts NaN after all other numbers, as DuckDB and polars do.
        """
        a, b = self.value(left), self.value(right)
        result = _COMPARISONS[name](a, b)
        a_float, b_float = self.is_float_column(left), self.is_float_column(right)
        if a_float and b_float:
            raise NotImplementedError("a comparison of two columns of floats")
        number = a if a_float and name in ("gt", "gte") else b if b_float and name in ("lt", "lte") else None
        return result if number is None else result & (number <= float("inf"))

    def is_float_column(self, tree: bytes) -> bool:
        kind, body = _one(tree)
        return kind == 2 and self.is_float[self.index(body)]

    def index(self, body: bytes) -> int:
        """Returns the index of the column of a FieldReference."""
        for number, content in _fields(body):
            if number == 1:  # direct_reference: ReferenceSegment
                kind, segment = _one(content)
                if kind != 2:  # struct_field
                    raise NotImplementedError("a reference into a map or a list")
                field = dict(_fields(segment))
                if 2 in field:  # child
                    raise NotImplementedError("a nested column")
                return field.get(1, 0)
        raise NotImplementedError("a reference to no column")

    def function(self, body: bytes) -> tuple[str, list[bytes]]:
        reference, arguments = 0, []
        for number, content in _fields(body):
            if number == 1:
                reference = content
            elif number == 4:  # arguments: FunctionArgument
                kind, value = _one(content)
                if kind != 3:
                    raise NotImplementedError("an argument that is no value")
                arguments.append(value)
        # `gt:any_any` names the types of the arguments.
        return self.functions[reference].split(":")[0], arguments

    def value(self, tree: bytes) -> Expr:
        kind, body = _one(tree)
        if kind == 1:
            return lit(_literal(body))
        if kind == 2:  # selection: FieldReference
            return column(self.names[self.index(body)])
        raise NotImplementedError(f"value {kind}")


def _literal(body: bytes) -> Any:
    for number, content in _fields(body):
        if number == 1:
            return bool(content)
        if number in (2, 3, 5, 7):  # i8, i16, i32, i64
            return content - (1 << 64) if content >= 1 << 63 else content
        if number in (10, 11):  # fp32, fp64
            value = struct.unpack("<f" if number == 10 else "<d", content)[0]
            if value != value:
                raise NotImplementedError("NaN")
            return value
        if number == 12:
            return content.decode()
        if number in (50, 51):  # nullable, type_variation_reference
            continue
        raise NotImplementedError(f"literal {number}")
    raise NotImplementedError("a literal without a value")


def _one(message: bytes) -> tuple[int, Any]:
    for number, content in _fields(message):
        return number, content
    raise NotImplementedError("an empty message")


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yields the number and the content of each field."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = _varint(message, at)
            yield number, value
            continue
        if kind == 2:
            size, at = _varint(message, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise NotImplementedError(f"wire type {kind}")
        yield number, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
