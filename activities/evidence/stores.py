"""The stores of evidence: ConfigMaps, or files of a directory that a setting of the worker names."""

import asyncio
import hashlib
import os
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from health.evidence.document import EvidenceDocument
from health.evidence.kept import text
from health.evidence.retention import Retention, StoredEvidence
from health.model.evidence import LABEL, PREFIX, evidence_name
from health.model.references import IncidentReference
from kube.client import Client
from kube.errors import AlreadyExists, NotFound
from kube.resource import CONFIG_MAPS, Object
from objects.metadata import ObjectMetadata
from objects.timestamps import stamp

_LONGEST_LABEL, _HASH_LENGTH = 63, 8
THREADS = 2
_BEGUN = ".tmp"
_DONE = ".yaml"
_MODE = 0o640


@dataclass(frozen=True)
class Filing:
    """One incident's evidence, at the moment when it was taken."""

    incident: IncidentReference
    first_run_id: str
    at: datetime

    @property
    def name(self) -> str:
        """The same for every attempt, in any process."""
        return evidence_name(self.incident, self.first_run_id)

    @property
    def labels(self) -> dict[str, str]:
        """Labels by which people select the evidence of one check, target or incident."""
        incident = self.incident
        return {
            LABEL: "true",
            "paramedic.dev/check": label(str(incident.check)),
            "paramedic.dev/target": label(str(incident.target)),
            "paramedic.dev/incident": label(incident.workflow_id),
        }

    @property
    def annotations(self) -> dict[str, str]:
        """Values that do not fit into a label."""
        return {
            "paramedic.dev/workflow-id": self.incident.workflow_id,
            "paramedic.dev/run-id": self.first_run_id,
            "paramedic.dev/taken-at": stamp(self.at),
        }


def label(value: str) -> str:
    """The value as a valid label: _ replaces /, and a hash replaces the end of a long value."""
    plain = value.replace("/", "_")
    if len(plain) <= _LONGEST_LABEL:
        return plain
    end = hashlib.sha256(value.encode()).hexdigest()[:_HASH_LENGTH]
    return f"{plain[: _LONGEST_LABEL - _HASH_LENGTH - 1]}-{end}"


class EvidenceFiles(Protocol):
    """One store for evidence, as ConfigMaps or files."""

    @property
    def namespace(self) -> str:
        """The namespace of its ConfigMaps; "" for files."""

    def named(self, name: str) -> str:
        """The name or path by which people find this evidence."""

    async def save(self, filing: Filing, document: EvidenceDocument) -> None:
        """Save it, unless it exists; raises KubernetesError and OSError."""

    async def prune(self, now: datetime, newest: str = "") -> None:
        """Delete evidence beyond the retention, except `newest`; raises KubernetesError and OSError."""


@dataclass(frozen=True)
class EvidenceConfigMaps:
    """The evidence in the namespace of our processes, about Nodes of any cluster, with its retention.

    A ConfigMap is ours if it has our label and our prefix, and is deleted as it was listed (rule 52): other
    ConfigMaps share that namespace, among them the policy.
    """

    client: Client
    namespace: str
    retention: Retention

    def named(self, name: str) -> str:
        """The name itself, which is enough to find a ConfigMap."""
        return name

    async def save(self, filing: Filing, document: EvidenceDocument) -> None:
        """Create it; an earlier attempt may have done so.

        Raises:
            KubernetesError: it cannot be created.

        """
        metadata = {"name": filing.name, "labels": filing.labels, "annotations": filing.annotations}
        body: Object = {
            "apiVersion": CONFIG_MAPS.api_version,
            "kind": CONFIG_MAPS.kind,
            "metadata": metadata,
            "immutable": True,
            "data": dict(document.texts),
        }
        try:
            await self.client.create(CONFIG_MAPS, body, self.namespace)
        except AlreadyExists:
            if filing.name not in {config_map.name for config_map in await self._own()}:
                raise

    async def prune(self, now: datetime, newest: str = "") -> None:
        """Delete evidence beyond the retention; another worker may do so at the same time.

        Raises:
            KubernetesError: listing or deleting failed.

        """
        own = {config_map.name: config_map for config_map in await self._own()}
        kept = (StoredEvidence(stored.name, stored.creation_timestamp) for stored in own.values())
        over = self.retention.over(kept, now, newest)
        await asyncio.gather(*(self._delete(own[name]) for name in over))

    async def _own(self) -> list[ObjectMetadata]:
        listed = await self.client.list_metadata(CONFIG_MAPS, self.namespace, LABEL)
        found = (ObjectMetadata.model_validate(stored["metadata"]) for stored in listed)
        return [stored for stored in found if stored.name.startswith(PREFIX)]

    async def _delete(self, metadata: ObjectMetadata) -> None:
        with suppress(NotFound):
            await self.client.delete(
                CONFIG_MAPS,
                metadata.name,
                self.namespace,
                uid=metadata.uid,
                resource_version=metadata.resource_version,
            )


class EvidenceDirectory:
    """One directory with evidence, and the threads that access it.

    No check can choose a path: the file name is that of its evidence, which has no separators. The file is
    written under another name and then renamed, so it is never incomplete. A file system that hangs, for
    example a network file system, blocks the two threads of this directory and no other part of the worker.
    """

    namespace = ""

    def __init__(self, directory: Path, retention: Retention) -> None:
        self._directory = directory
        self._retention = retention
        self._threads = ThreadPoolExecutor(THREADS, "evidence")
        self._free = asyncio.Semaphore(THREADS)
        """Idle threads; a thread that hangs stays in use even after its caller has given up."""

    def named(self, name: str) -> str:
        return str(self._directory / f"{name}{_DONE}")

    async def save(self, filing: Filing, document: EvidenceDocument) -> None:
        """Write it, unless an earlier attempt did.

        Raises:
            OSError: it cannot be written, for example because the directory is full.

        """
        heads = {**filing.labels, **filing.annotations}
        head = "".join(f"# {key}: {_on_one_line(value)}\n" for key, value in heads.items())
        await self.in_a_thread(lambda: self._write(Path(self.named(filing.name)), f"{head}{document.as_one}"))

    async def prune(self, now: datetime, newest: str = "") -> None:
        """Delete evidence beyond the retention, and incomplete files of a killed worker.

        Raises:
            OSError: reading the directory or deleting a file failed.

        """
        await self.in_a_thread(lambda: self._prune(now, f"{newest}{_DONE}"))

    async def in_a_thread(self, work: Callable[[], object]) -> None:
        """Run work that may block for any time; its result is dropped."""
        # Wait here: in the queue of the threads abandoned work would keep its document in memory.
        await self._free.acquire()
        loop, ends = asyncio.get_running_loop(), self._threads.submit(work)
        ends.add_done_callback(lambda _: self._set_free(loop))
        await asyncio.wrap_future(ends)

    def _set_free(self, loop: asyncio.AbstractEventLoop) -> None:
        with suppress(RuntimeError):  # the process has ended meanwhile
            loop.call_soon_threadsafe(self._free.release)

    def _write(self, path: Path, body: str) -> None:
        if path.exists():
            return
        begun = path.with_name(f"{path.name}.{secrets.token_hex(4)}{_BEGUN}")
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            with os.fdopen(os.open(begun, flags, _MODE), "w", encoding="utf-8") as file:
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            begun.replace(path)
        finally:
            with suppress(OSError):  # it was renamed, or never created
                begun.unlink()

    def _prune(self, now: datetime, newest: str) -> None:
        for name in self._retention.over(self._kept(), now, newest):
            with suppress(FileNotFoundError):
                (self._directory / name).unlink()

    def _kept(self) -> Iterator[StoredEvidence]:
        for entry in os.scandir(self._directory):
            if not entry.name.startswith(PREFIX) or not entry.name.endswith((_DONE, _BEGUN)):
                continue
            with suppress(FileNotFoundError):
                if entry.is_file(follow_symlinks=False):
                    yield StoredEvidence(
                        entry.name, datetime.fromtimestamp(entry.stat(follow_symlinks=False).st_mtime, UTC)
                    )


def _on_one_line(value: str) -> str:
    """The value on one line, because a comment ends with its line."""
    return text(value).replace("\n", " ")
