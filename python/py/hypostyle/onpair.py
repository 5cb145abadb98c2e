"""Strings that are compressed in memory, with access to each of them.

>>> from hypostyle import onpair
>>> cities = onpair.compress(["berlin-mitte", "berlin-wedding", None])
>>> cities[1], cities.startswith("berlin")
('berlin-wedding', [0, 1])
"""

from ._hypostyle import ArrowArray, Strings, compress

__all__ = ["ArrowArray", "Strings", "compress"]
