"""Opens URLs with fsspec."""

from __future__ import annotations

from typing import Any


def open(url: str) -> Any:  # noqa: A001
    """Opens a URL as a binary file object that can seek."""
    try:
        import fsspec
    except ImportError:
        raise ImportError(
            f"opening `{url.split('://')[0]}://` needs the package fsspec: pip install fsspec"
        ) from None
    return fsspec.open(url, "rb").open()
