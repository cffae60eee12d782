"""Estimates the memory of records, and bounds the records that one source keeps.

The other end chooses names, labels and the number of objects, so a count of objects bounds no memory.
"""

from pydantic_core import to_json

from kube import answer_bounds
from kube.answer_bounds import values_in
from kube.errors import Malformed
from kube.record import Key, Record, key_of
from kube.resource import Object

_OF_A_TEXT = 32
"""Bytes that Python needs beside the letters of a text, measured with labels and owners."""
_OF_A_VALUE = 100
"""Bytes that Python needs for a value in lists and mappings, beside its letters."""


def memory_of(record: Record) -> int:
    """The memory of `record` in bytes, about: its JSON, and a part for each text and field in it."""
    encoded = to_json(record, serialize_unknown=True)
    return len(encoded) + _OF_A_TEXT * (encoded.count(b'"') // 2)


def memory_of_object(item: Object) -> int:
    """The memory of a whole object in bytes, about."""
    encoded = to_json(item)
    return len(encoded) + _OF_A_VALUE * values_in(encoded)


def check_bound(what: str, number: int, most: int, things: str) -> None:
    """Raise Malformed if `what` ("The list of /api/v1/nodes") has more than `most` of `things`."""
    if number > most:
        raise Malformed(f"{what} has over {most} {things}.")


class StoreMemory:
    """The memory of each record of one store; `source` names the store in errors."""

    def __init__(self, source: str) -> None:
        self._what = f"The cache of {source}"
        self._of: dict[Key, int] = {}
        self._sum = 0

    def put(self, record: Record) -> None:
        """Count a record in place of the one of its name.

        Raises Malformed: the store would be too large; the record is not counted.
        """
        key, memory = key_of(record), memory_of(record)
        before = self._of.get(key)
        number, total = len(self._of) + (before is None), self._sum - (before or 0) + memory
        check_bound(self._what, number, answer_bounds.MOST_OBJECTS, "objects")
        check_bound(self._what, total, answer_bounds.MOST_KEPT, "bytes of records")
        self._of[key], self._sum = memory, total

    def remove(self, key: Key) -> None:
        self._sum -= self._of.pop(key, 0)

    def replace(self, memory: dict[Key, int]) -> None:
        """Make these the only records; `list_all` has checked the bounds."""
        self._of, self._sum = memory, sum(memory.values())
