"""Reads a file in one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._hypostyle import open as open_table

if TYPE_CHECKING:
    from ._hypostyle import MemoryTable


def read(
    source: Any,
    columns: Sequence[str | int] | None = None,
    filter: Any = None,  # noqa: A002
    limit: int | None = None,
    **options: Any,
) -> MemoryTable:
    """Reads a file into memory.

    ``columns``, ``filter`` and ``limit`` are those of ``Table.scan``, the options those of ``open``.
    """
    return open_table(source, **options).read(columns, filter, limit)
