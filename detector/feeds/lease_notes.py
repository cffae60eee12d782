"""LeaseNotes: notes about clusters for the next process, in an annotation of the leader Lease.

The leader notes what it knows. A detector reads the notes when it starts, and again when it becomes the
leader, as the previous leader may have written more. Notes about clusters that no check names now are kept,
up to a limit. The content of a note that cannot be read is unknown, so it counts as `unreadable` (ADR 21).

The leader writes its notes again every 30 s: a person may have deleted the Lease, or a process that was
frozen may have written late.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from kube.client import Client
from kube.errors import KubernetesError, none_if_absent
from kube.resource import LEASES
from kube.server_clock import monotonic_clock
from runtime.problems import Problems, retry_forever

LOOK_SECONDS = 1.0
WRITE_AGAIN_SECONDS = 30.0
MOST_KEPT = 1000
"""Limit of the notes that are kept about clusters that no check names now."""
NoteT = TypeVar("NoteT", bound=BaseModel)


@dataclass(frozen=True, kw_only=True)
class NoteKind(Generic[NoteT]):
    """One kind of note, with its annotation and defaults."""

    part: str
    """Its name in logs and problems."""
    annotation: str
    notes: TypeAdapter[dict[str, NoteT]]
    nothing: NoteT
    """The value for a cluster without a note."""
    unreadable: NoteT
    """The value for every cluster if the annotation cannot be read."""
    is_kept: Callable[[str], bool] = lambda _: True
    """Whether to keep a note of an earlier process under this key while this process has none."""


@dataclass(frozen=True)
class NoteLease:
    """The leader Lease, which carries the notes as annotations."""

    client: Client
    namespace: str
    name: str
    problems: Problems


def _nothing() -> None:
    pass


class LeaseNotes(Generic[NoteT]):
    """The notes of one kind, by cluster or group, on one Lease."""

    def __init__(self, kind: NoteKind[NoteT], lease: NoteLease) -> None:
        self._kind = kind
        self._lease = lease
        self._noted: dict[str, NoteT] | None = {}

    async def read(self) -> None:
        """Read the notes, retrying for as long as it takes; call it before anything is watched."""
        self._noted = await retry_forever(
            self._kind.part, self._read, (KubernetesError,), self._lease.problems
        )

    def of(self, key: str) -> NoteT:
        """The note of an earlier process, or of the previous leader."""
        return self._kind.unreadable if self._noted is None else self._noted.get(key, self._kind.nothing)

    async def lead(
        self, notes: Callable[[], Mapping[str, NoteT]], taken_over: Callable[[], None] = _nothing
    ) -> None:
        """Write changed notes until cancelled; only the leader may.

        `taken_over` is called once, after the notes of the previous leader were read.
        """
        await self.read()
        taken_over()
        written: dict[str, NoteT] = {}
        write_again = monotonic_clock()
        while True:
            known = dict(notes())
            known = self._of_others(known) | known
            if known != written or (known and monotonic_clock() >= write_again):
                writing = partial(self._write, known)
                await retry_forever(self._kind.part, writing, (KubernetesError,), self._lease.problems)
                written, write_again = known, monotonic_clock() + WRITE_AGAIN_SECONDS
            await asyncio.sleep(LOOK_SECONDS)

    def _of_others(self, known: Mapping[str, NoteT]) -> dict[str, NoteT]:
        """The notes about clusters that this process does not know, as no check has named them."""
        kept = {
            key: noted
            for key, noted in (self._noted or {}).items()
            if key not in known and self._kind.is_kept(key) and noted != self._kind.nothing
        }
        return dict(list(kept.items())[-MOST_KEPT:])

    async def _read(self) -> dict[str, NoteT] | None:
        """The notes on the Lease; None if they do not decode."""
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
