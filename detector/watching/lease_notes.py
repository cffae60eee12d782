"""LeaseNotes: what a new process must know of clusters, kept as an annotation of the leader Lease.

The detector that leads notes what it knows, and one that starts goes on from there. What is noted of clusters
that no check names for now is kept, up to a limit. What is noted and cannot be read may be anything (ADR 21).
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from kube.absence import none_if_absent
from kube.client import Client
from kube.errors import KubernetesError
from kube.resource import LEASES
from runtime.problems import Problems
from runtime.retrying import retry_forever

LOOK_SECONDS = 1.0
MOST_KEPT = 1000
"""Of so many clusters that no check names for now it is known what was noted."""
NoteT = TypeVar("NoteT", bound=BaseModel)


@dataclass(frozen=True)
class NoteKind(Generic[NoteT]):
    """What is noted."""

    part: str
    """What it is, for people."""
    annotation: str
    notes: TypeAdapter[dict[str, NoteT]]
    nothing: NoteT
    """Of a cluster of which nothing is noted."""
    unreadable: NoteT
    """Where it cannot be read what is noted."""
    is_kept: Callable[[str], bool] = lambda _: True
    """Whether what an earlier process noted under a key is kept where this one knows nothing of it."""


@dataclass(frozen=True)
class NoteLease:
    """Where it is noted."""

    client: Client
    namespace: str
    name: str
    problems: Problems


class LeaseNotes(Generic[NoteT]):
    """The notes of one kind, by cluster or group, on one Lease."""

    def __init__(self, kind: NoteKind[NoteT], lease: NoteLease) -> None:
        self._kind = kind
        self._lease = lease
        self._noted: dict[str, NoteT] | None = {}

    async def read(self) -> None:
        """Read what is noted, however long that takes; before anything is watched."""
        self._noted = await retry_forever(
            self._kind.part, self._read, (KubernetesError,), self._lease.problems
        )

    def of(self, key: str) -> NoteT:
        """What was noted before this process began."""
        return self._kind.unreadable if self._noted is None else self._noted.get(key, self._kind.nothing)

    async def lead(self, notes: Callable[[], Mapping[str, NoteT]]) -> None:
        """Note what changes, until cancelled; only who leads may."""
        written: dict[str, NoteT] = {}
        while True:
            known = dict(notes())
            known = self._of_others(known) | known
            if known != written:
                writing = partial(self._write, known)
                await retry_forever(self._kind.part, writing, (KubernetesError,), self._lease.problems)
                written = known
            await asyncio.sleep(LOOK_SECONDS)

    def _of_others(self, known: Mapping[str, NoteT]) -> dict[str, NoteT]:
        """What was noted of clusters that this process knows nothing of yet, as no check named them."""
        kept = {
            key: noted
            for key, noted in (self._noted or {}).items()
            if key not in known and self._kind.is_kept(key) and noted != self._kind.nothing
        }
        return dict(list(kept.items())[-MOST_KEPT:])

    async def _read(self) -> dict[str, NoteT] | None:
        """What is noted; None where it cannot be understood."""
        lease = await none_if_absent(self._lease.client.get(LEASES, self._lease.name, self._lease.namespace))
        if lease is None:
            return {}  # no detector has led yet
        text = (lease["metadata"].get("annotations") or {}).get(self._kind.annotation, "{}")
        try:
            return self._kind.notes.validate_json(text)
        except ValidationError:
            return None

    async def _write(self, known: dict[str, NoteT]) -> None:
        text = self._kind.notes.dump_json(known, exclude_defaults=True).decode()
        patch = {"metadata": {"annotations": {self._kind.annotation: text}}}
        await self._lease.client.merge_patch(LEASES, self._lease.name, patch, self._lease.namespace)
