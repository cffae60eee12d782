"""Bounds for answers of an API server: that of a workload cluster must not be able to end our process.

The bounds of lists and caches are those of `CacheRoom`. The constants are for workload clusters; for our own
cluster they follow from the memory of the process.

The transport counts bytes as they arrive and are decompressed, and drops an answer beyond its bound before it
is parsed. etcd stores no object over 1.5 MB. If a page is too large, a list asks for smaller pages, so that
only an object that is too large itself makes a list unreadable. The decoder stops at the first bad item of a
collection: pydantic keeps about 1 KB for each error. It also keeps the invalid value as Python values, which
MOST_VALUES bounds.

`python -m bench bounds` measures the worst answers within these bounds.
"""

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self
from weakref import WeakSet

from pydantic_core import to_json

from kube.errors import OverBound
from kube.record import Key, Record, key_of
from kube.resource import Object

KIB, MIB = 1024, 1024 * 1024

MOST_OF_AN_OBJECT = 1536 * KIB + 64 * KIB
"""In bytes: one object in an answer, with the envelope of a watch event."""
MOST_OF_A_PAGE = 2 * MIB
"""In bytes; a Node has 16 to 50 KB. The parser needs up to 40 times as much for small objects."""
MOST_ITEMS_OF_A_PAGE = 1_000
"""In objects; we ask for 100."""
MOST_VALUES = 105_000
"""JSON values in an answer of which any part may become Python values: 70 to 150 bytes each, several times. A
page of 100 Nodes has about 50,000; the shortest value has two bytes, so a page may have a million."""
MOST_DECODED_VALUES = 200_000
"""JSON values in an answer whose objects are decoded at all; an object alone that has more is named only."""
MOST_OF_A_LIST = 512 * MIB
"""In bytes as received, page after page: 10,000 of the largest Nodes. Only the records of a page are kept."""
MOST_KEPT = 128 * MIB
"""In bytes of memory, as `memory_of` estimates it, for the records of one list or store: a Node
counts 2 to 6 KB, whatever its size in the answer, so 20,000 Nodes fit. The Deployment allows 512 Mi."""
MOST_LISTED = 256 * MIB
"""In bytes of memory, as `memory_of` estimates it, for the whole objects of one `Client.list`: a
Machine counts 15 KB."""
MOST_OF_SOME = 32 * MIB
"""The same, where a part of the list is enough (`Client.list_some`): several activities read at a time."""
MOST_PAGES = 5_000
"""Pages of one list; an API server may answer with empty pages for ever."""
MOST_OBJECTS = 50_000
"""Objects of one list, or of one store that a watch adds to."""
MOST_UNDECODABLE = 1_000
"""Objects of one list or store that do not decode; the key and the error of each are kept."""
LONGEST_NAME = 253
LONGEST_NAMESPACE = 63
LONGEST_VERSION = 128
"""In characters: an API server allows no longer names, and a resourceVersion is a number of 64 bits."""
CGROUP_FILES = (
    Path("/sys/fs/cgroup/memory.max"),  # version 2
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
"""The limit of the container in bytes; "max", or a number beyond all memory, is none."""
PART_OF_A_CACHE = 4
"""The Nodes of a large cluster are one cache; in the process they take twice what their records are estimated
at, and at a new list the old records and the new ones exist beside each other."""
_OF_A_TEXT = 32
"""Bytes that Python needs beside the letters of a text, measured with labels and owners."""
_OF_A_VALUE = 100
"""Bytes that Python needs for a value in lists and mappings, beside its letters."""


def memory_limit(files: Iterable[Path] = CGROUP_FILES) -> int:
    """In bytes: the least of the container's limit and the memory of the machine."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for file in files:
        with suppress(OSError):
            text = file.read_text().strip()
            limits += [int(text)] if text.isdecimal() and int(text) else []
    return min(limits)


def most_kept_by(limit: int) -> int:
    """In bytes: the records of one cache in a process with this limit, never fewer than by default."""
    return max(MOST_KEPT, limit // PART_OF_A_CACHE)


def values_in(answer: bytes) -> int:
    """The number of values in JSON without spaces, or more: commas and brackets in texts count, too."""
    return _opened_in(answer) - answer.count(b"[]") - answer.count(b"{}")


def has_more_values(answer: bytes, most: int) -> bool:
    # A search for two letters costs more than all searches for one, and few answers need it.
    return len(answer) > most and _opened_in(answer) > most and values_in(answer) > most


def _opened_in(answer: bytes) -> int:
    """The same, if an empty container had a value."""
    return 1 + answer.count(b",") + answer.count(b"[") + answer.count(b"{")


def memory_of(record: Record) -> int:
    """The memory of `record` in bytes, about: its JSON, and a part for each text and field in it."""
    encoded = to_json(record, serialize_unknown=True)
    return len(encoded) + _OF_A_TEXT * (encoded.count(b'"') // 2)


def memory_of_object(item: Object) -> int:
    """The memory of a whole object in bytes, about."""
    encoded = to_json(item)
    return len(encoded) + _OF_A_VALUE * values_in(encoded)


def check_bound(subject: str, number: int, most: int, things: str) -> None:
    """Raise OverBound if `subject` ("The list of /api/v1/nodes") has more than `most` of `things`."""
    if number > most:
        raise OverBound(f"{subject} has over {most} {things}.")


@dataclass(kw_only=True)
class CacheRoom:
    """How large the lists and caches of one API server may be, and how full its caches are."""

    kept: int = MOST_KEPT
    """In bytes of memory: the records of one list or cache."""
    objects: int = MOST_OBJECTS
    received: int = MOST_OF_A_LIST
    """In bytes, of all pages of one list."""
    pages: int = MOST_PAGES
    listed: int = MOST_LISTED
    """In bytes of memory: the whole objects of one list of a client."""
    _caches: "WeakSet[StoreMemory]" = field(default_factory=WeakSet, init=False)

    @classmethod
    def of(cls, kept: int) -> Self:
        """The room of our own cluster, with so many bytes of records in one cache."""
        objects = max(MOST_OBJECTS, kept // KIB)
        return cls(
            kept=kept,
            objects=objects,
            received=max(MOST_OF_A_LIST, 32 * kept),
            pages=objects,
            listed=max(MOST_LISTED, 2 * kept),
        )

    def cache(self, source: str) -> "StoreMemory":
        """The memory of a new cache; `source` names it in errors."""
        made = StoreMemory(source, self)
        self._caches.add(made)
        return made

    @property
    def fullness(self) -> Mapping[str, float]:
        """How full each cache is, by its name: 1 is all that it may have, or more than fits.

        Two caches may have the same objects, of other fields; then the fuller one counts.
        """
        found: dict[str, float] = {}
        for cache in self._caches:
            found[cache.source] = max(cache.fullness, found.get(cache.source, 0.0))
        return found


class StoreMemory:
    """The memory of each record of one store; `source` names the store in errors.

    The other end chooses names, labels and the number of objects, so a count of objects bounds no memory.
    """

    def __init__(self, source: str, room: CacheRoom) -> None:
        self.source = source
        self._room = room
        self._is_over = False
        self._of: dict[Key, int] = {}
        self._sum = 0

    def put(self, record: Record) -> None:
        """Count a record in place of the one of its name.

        Raises OverBound: the store would be too large; the record is not counted.
        """
        key, memory = key_of(record), memory_of(record)
        before = self._of.get(key)
        number, total = len(self._of) + (before is None), self._sum - (before or 0) + memory
        subject = f"The cache of {self.source}"
        check_bound(subject, number, self._room.objects, "objects")
        check_bound(subject, total, self._room.kept, "bytes of records")
        self._of[key], self._sum = memory, total

    @property
    def fullness(self) -> float:
        """The part of its room that it takes; 1 also after a list that did not fit."""
        used = max(self._sum / self._room.kept, len(self._of) / self._room.objects)
        return 1.0 if self._is_over else used

    def note_overflow(self) -> None:
        """Note that the last list did not fit."""
        self._is_over = True

    def remove(self, key: Key) -> None:
        self._sum -= self._of.pop(key, 0)

    def replace(self, memory: dict[Key, int]) -> None:
        """Make these the only records; `list_all` has checked the bounds."""
        self._of, self._sum, self._is_over = memory, sum(memory.values()), False
