"""ClusterNotes: what this process notes about clusters for the next one, and what an earlier one noted.

The objects of the management cluster show its upgrades. But only the detector that lost a connection knows of
the loss, and a suspected outage leaves no trace once it is over. So the detector notes both on the leader
Lease (rule 37), beside the identity of each workload cluster.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from detector.feeds.node_watch import LOST, BlindTime
from health.cluster.cluster_identity import (
    ANNOTATION,
    NOT_KNOWN,
    UNREADABLE,
    KnownCluster,
    bounded,
    changed_hold,
    node_digest,
)
from health.model.observation import Hold
from health.policy.outage_guard import is_group_key
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
_log = logging.getLogger(__name__)


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
    bounded: Callable[[Mapping[str, NoteT]], dict[str, NoteT]] = dict
    """Limits the size of all notes together."""


@dataclass(frozen=True)
class NoteLease:
    """The leader Lease, which carries the notes as annotations."""

    client: Client
    namespace: str
    name: str
    problems: Problems


class LeaseNotes(Generic[NoteT]):
    """The notes of one kind, by cluster or group, in an annotation of the leader Lease.

    The leader notes its knowledge. A detector reads the notes when it starts, and again when it becomes the
    leader, as the previous leader may have written more. Notes about clusters that no check names now are
    kept, up to a limit. The content of a note that cannot be read is unknown, so it counts as `unreadable`
    (ADR 21).

    The leader writes its notes again every 30 s: a person may have deleted the Lease, or a process that was
    frozen may have written late.
    """

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
        self, notes: Callable[[], Mapping[str, NoteT]], taken_over: Callable[[], None] | None = None
    ) -> None:
        """Write changed notes until cancelled; only the leader may.

        `taken_over` is called once, after the notes of the previous leader were read.
        """
        await self.read()
        if taken_over is not None:
            taken_over()
        written: dict[str, NoteT] = {}
        write_again = monotonic_clock()
        while True:
            current = dict(notes())
            current = self._kind.bounded(self._of_others(current) | current)
            if current != written or (current and monotonic_clock() >= write_again):
                writing = partial(self._write, current)
                await retry_forever(self._kind.part, writing, (KubernetesError,), self._lease.problems)
                written, write_again = current, monotonic_clock() + WRITE_AGAIN_SECONDS
            await asyncio.sleep(LOOK_SECONDS)

    def _of_others(self, current: Mapping[str, NoteT]) -> dict[str, NoteT]:
        """The notes about clusters that this process does not know, as no check has named them."""
        kept = {
            key: noted
            for key, noted in (self._noted or {}).items()
            if key not in current and self._kind.is_kept(key) and noted != self._kind.nothing
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

    async def _write(self, current: dict[str, NoteT]) -> None:
        text = self._kind.notes.dump_json(current, exclude_defaults=True).decode()
        patch = {"metadata": {"annotations": {self._kind.annotation: text}}}
        await self._lease.client.merge_patch(LEASES, self._lease.name, patch, self._lease.namespace)


BLIND_TIMES = NoteKind(
    part="blind times",
    annotation="paramedic.dev/blind-times",
    notes=TypeAdapter(dict[str, BlindTime]),
    nothing=BlindTime(),
    unreadable=LOST,
    is_kept=lambda key: not is_group_key(key),
)
"""Lost connections by cluster, and suspected outages by `NodeGroup.key`.

A note without an end ends when the detector that starts has read the cluster (ADR 21).
"""
KNOWN_CLUSTERS = NoteKind(
    part="known clusters",
    annotation=ANNOTATION,
    notes=TypeAdapter(dict[str, KnownCluster]),
    nothing=NOT_KNOWN,
    unreadable=UNREADABLE,
    bounded=bounded,
)


class Confirmations(NamedTuple):
    """The annotations by which people confirm one workload cluster on its checks."""

    owner: str = ""
    """The uid of its Cluster."""
    uids: Collection[str] = ()
    """The uids that people confirmed."""


class ClusterIdentities:
    """The uid of each workload cluster, as first seen or confirmed by a person (rule 50)."""

    def __init__(self, noted: Callable[[str], KnownCluster]) -> None:
        self._noted = noted
        self._records: dict[str, KnownCluster] = {}
        self._holds: dict[str, Hold] = {}

    def see(self, uids: Mapping[str, str], confirmations: Mapping[str, Confirmations]) -> dict[str, Hold]:
        """Compare the uid of each cluster with the known one; returns the holds of clusters that differ."""
        before, self._holds = self._holds, {}
        for cluster, uid in uids.items():
            confirmed = confirmations.get(cluster, Confirmations())
            record = self._of(cluster).after(confirmed.owner, uid, confirmed.uids)
            self._records[cluster] = record
            if not record.is_one(confirmed.owner, uid):
                self._holds[cluster] = changed_hold(cluster, record, uid)
        for cluster in self._holds.keys() - before.keys():
            _log.warning("workload cluster changed", extra={"why": self._holds[cluster].message})
        return self._holds

    def take_noted(self) -> None:
        """Prefer the notes of the previous leader to what this process saw before it became the leader."""
        self._records = {
            cluster: record for cluster, record in self._records.items() if self._noted(cluster) == NOT_KNOWN
        }

    def _of(self, cluster: str) -> KnownCluster:
        return self._records[cluster] if cluster in self._records else self._noted(cluster)

    def uid(self, cluster: str) -> str:
        """The uid of its kube-system that this process or an earlier one knows; "": none."""
        return self._of(cluster).uid

    def believed(self, cluster: str) -> tuple[str, ...]:
        """The Nodes that an earlier process knew to be gone, by `node_digest`."""
        return self._noted(cluster).believed

    def notes(self, lost: Mapping[str, Collection[str]]) -> dict[str, KnownCluster]:
        """The notes for the next process; `lost` has the Nodes that are known to be gone, by cluster."""
        believed = {cluster: tuple(sorted(map(node_digest, names))) for cluster, names in lost.items()}
        changed = {cluster for cluster, digests in believed.items() if digests != self.believed(cluster)}
        return {
            cluster: self._of(cluster).model_copy(
                update={"believed": believed.get(cluster, self.believed(cluster))}
            )
            for cluster in self._records.keys() | changed
        }
