"""PausableChecks: the metadata of all checks that an annotation pauses during an upgrade of the cluster.

They are watched even if this detector does not handle their kind: the controller that does honours the pause.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta

from detector.feeds.source import Source, all_tried, first_unread
from health.gate.check_holds import NOT_YET
from health.kinds.check_kind import CheckKind
from health.model.references import CheckReference
from health.upgrade.pausable_check import PausableCheck, PauseAnnotations
from kube.connection import ClusterConnection
from kube.record import Key
from kube.reflector import Reflector
from kube.reflector_settings import CurrentSettings
from objects.frozen import FrozenObject
from objects.metadata import ObjectMetadata
from runtime.problems import Problems

REPORT_EVERY_SECONDS = 1.0
IsInShadow = Callable[[Mapping[str, str]], bool]
"""Whether nothing may be written for a check with these annotations."""


class PausableRecord(FrozenObject):
    """The stored part of a check: its metadata."""

    metadata: ObjectMetadata


class KindOfPausableChecks:
    """The pausable checks of one kind, from one reflector."""

    def __init__(
        self,
        kind: CheckKind,
        annotations: PauseAnnotations,
        source: Reflector[PausableRecord],
        is_in_shadow: IsInShadow,
    ) -> None:
        self._kind = kind
        self._is_in_shadow = is_in_shadow
        self._annotations = annotations
        self._made: dict[Key, tuple[PausableRecord, PausableCheck]] = {}
        self.source = source

    def all(self) -> Iterable[PausableCheck]:
        """The checks now, without those in shadow unless they are marked and so have to be unpaused."""
        made_before, self._made = self._made, {}
        for key, record in self.source.store.items():
            before = made_before.get(key)
            check = before[1] if before and before[0] is record else self._check(key, record)
            self._made[key] = record, check
            if check.is_marked or not self._is_in_shadow(record.metadata.annotations):
                yield check

    def _check(self, key: Key, record: PausableRecord) -> PausableCheck:
        return PausableCheck.of(self._reference(key), record.metadata, self._annotations)

    def _reference(self, key: Key) -> CheckReference:
        return CheckReference(
            kind=self._kind.kind, group=self._kind.group, namespace=key.namespace, name=key.name
        )


class PausableChecks:
    """The pausable checks of one cluster, of every kind with annotations for pauses."""

    def __init__(
        self,
        connection: ClusterConnection,
        kinds: Iterable[CheckKind],
        changed: Callable[[], None],
        reflectors: CurrentSettings,
        is_in_shadow: IsInShadow,
    ) -> None:

        def source_of(kind: CheckKind) -> Reflector[PausableRecord]:
            transport = connection.transport
            return Reflector(transport, kind, PausableRecord, notify=lambda _: changed(), settings=reflectors)

        self._kinds = [
            KindOfPausableChecks(kind, kind.upgrade_pause, source_of(kind), is_in_shadow)
            for kind in kinds
            if kind.upgrade_pause is not None
        ]
        # Problems of these checks block nothing else, so the detector is still ready.
        self._problems = Problems("checks are neither paused nor unpaused for upgrades")

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for kind in self._kinds:
                tasks.create_task(kind.source.run())
            while True:
                for kind in self._kinds:
                    self._report(kind.source)
                await asyncio.sleep(REPORT_EVERY_SECONDS)

    def _report(self, source: Source) -> None:
        unread = "" if source.synced else NOT_YET
        self._problems.report(source.name, (source.problem or unread) if source.is_served else "")

    async def wait_tried(self) -> None:
        """Return when each kind was read completely, is not served, or could not be read."""
        await all_tried(kind.source for kind in self._kinds)

    def all(self) -> tuple[PausableCheck, ...]:
        return tuple(check for kind in self._kinds for check in kind.all())

    def unread(self, limit: timedelta) -> str:
        """Why the checks are not fresh enough; "" if they are."""
        return str(first_unread((kind.source for kind in self._kinds), limit) or "")
