"""The exceptions of the package."""

from __future__ import annotations


class Error(Exception):
    """An error of the library.

    Attributes say where it is, if that is known: ``format``, ``column`` (its name), ``row``
    (counted from 0) and ``offset`` (the byte in the file).
    """

    def __init__(
        self,
        message: str = "",
        *,
        format: str | None = None,
        column: str | None = None,
        row: int | None = None,
        offset: int | None = None,
    ) -> None:
        super().__init__(message)
        self.format = format
        self.column = column
        self.row = row
        self.offset = offset

    def __reduce__(self) -> tuple[object, ...]:
        where = {"format": self.format, "column": self.column}
        return _restore, (type(self), str(self), {**where, "row": self.row, "offset": self.offset})


def _restore(kind: type[Error], message: str, where: dict[str, object]) -> Error:
    return kind(message, **where)  # type: ignore[arg-type]


class CorruptFile(Error):
    """The file is damaged, or departs from its format where that is not allowed."""


class Unsupported(Error):
    """The file is in no known format, or uses a feature that is not supported."""


class Refused(Error, ValueError):
    """A table cannot be written without loss."""


class LimitExceeded(Error, MemoryError):
    """The file asks for more than a limit allows."""


class InvalidArgument(Error, ValueError):
    """An argument does not fit: a column that does not exist, a filter with another type."""


for _class in (Error, CorruptFile, Unsupported, Refused, LimitExceeded, InvalidArgument):
    _class.__module__ = "hypostyle"
