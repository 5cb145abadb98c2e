"""Methods of tables that need other packages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


def _needed(package: str) -> ImportError:
    return ImportError(f"this needs the package {package}: pip install {package}")


def to_pyarrow(self: Any) -> pyarrow.Table:
    """Reads all rows into a ``pyarrow.Table``."""
    try:
        import pyarrow
    except ImportError:
        raise _needed("pyarrow") from None
    return pyarrow.table(self)


def to_pandas(self: Any) -> pandas.DataFrame:
    """Reads all rows into a ``pandas.DataFrame``."""
    try:
        import pandas
    except ImportError:
        raise _needed("pandas") from None
    try:
        return pandas.DataFrame.from_arrow(self)
    except (AttributeError, ImportError):
        return to_pyarrow(self).to_pandas()


def to_polars(self: Any) -> polars.DataFrame:
    """Reads all rows into a ``polars.DataFrame``."""
    try:
        import polars
    except ImportError:
        raise _needed("polars") from None
    return polars.DataFrame(self)


def to_reader(self: Any) -> pyarrow.RecordBatchReader:
    """Returns a ``pyarrow.RecordBatchReader``, which reads batch by batch."""
    try:
        import pyarrow
    except ImportError:
        raise _needed("pyarrow") from None
    return pyarrow.RecordBatchReader.from_stream(self)


def to_pydict(self: Any) -> dict[str, list[Any]]:
    """Reads all rows into a dictionary of lists, by column name."""
    return to_pyarrow(self).to_pydict()
