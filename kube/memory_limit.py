"""The memory that this process may use, and the part of it that one cache may have."""

import os
from collections.abc import Iterable
from pathlib import Path

from kube.answer_bounds import MOST_KEPT

CGROUP_FILES = (
    Path("/sys/fs/cgroup/memory.max"),  # version 2
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
"""The limit of the container in bytes; "max", or a number beyond all memory, is none."""
PART_OF_A_CACHE = 4
"""The Nodes of a large cluster are one cache; in the process they take twice what their records are estimated
at, and at a new list the old records and the new ones exist beside each other."""


def memory_limit(files: Iterable[Path] = CGROUP_FILES) -> int:
    """In bytes: the least of the container's limit and the memory of the machine."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(machine, *(_limit(file) or machine for file in files))


def _limit(file: Path) -> int | None:
    try:
        text = file.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None


def most_kept_by(limit: int) -> int:
    """In bytes: the records of one cache in a process with this limit, never fewer than by default."""
    return max(MOST_KEPT, limit // PART_OF_A_CACHE)
