"""Sources: the reflectors that feed the picture, and how old it is.

Nodes, checks, Leases and what is around all checks are watched from the start; kinds of templates and of
requests when a check names them (`named_kinds`).
"""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from functools import partial

from detector.glance import Sight
from detector.named_kinds import NamedKinds
from detector.picture import Picture
from detector.records import CheckRecord
from detector.source import Source
from detector.surroundings_watch import SurroundingsWatch
from health.check_kind import CheckKind
from health.kinds import CHECK_KINDS
from health.node import Node
from health.references import CheckReference
from health.target import TargetName
from health.upgrade_signal import CLUSTER_VERSION, UpgradeSignal
from kube.lease import LeaseRecord
from kube.record import Change
from kube.reflector import Reflector
from kube.resource import LEASES, NODES, resource_of
from kube.transport import Transport
from runtime.problems import Problems

LOOK_FOR_PROBLEMS_SECONDS = 1.0
LONGEST_WAIT_FOR_KINDS_SECONDS = 2.0


class Sources:
    """All reflectors of one cluster."""

    def __init__(
        self,
        transport: Transport,
        picture: Picture,
        lease_namespace: str,
        problems: Problems,
        upgrade_signals: Sequence[UpgradeSignal] = (CLUSTER_VERSION,),
    ) -> None:
        self._transport = transport
        self._picture = picture
        self._problems = problems
        self._tasks = asyncio.TaskGroup()
        self._kinds = NamedKinds(transport, picture)
        self._around = SurroundingsWatch(transport, lease_namespace, upgrade_signals, self._look_around)
        nodes = Reflector(transport, NODES, Node, notify=self._node)
        leases = Reflector(transport, LEASES, LeaseRecord, namespace=lease_namespace, notify=self._lease)
        self._base: dict[str, Source] = {"nodes": nodes, "leases": leases}
        for kind in CHECK_KINDS.values():
            self._base[kind.kind] = self._checks_of(kind)
        picture.targets.broken["Node"] = nodes.broken
        picture.template_kinds = self._kinds.template_kind

    async def run(self) -> None:
        """Watch until cancelled."""
        async with self._tasks:
            for source in (*self._base.values(), *self._around.sources.values()):
                self._tasks.create_task(source.run())
            while True:
                self._report_problems()
                # That a kind is served by now, or no more, is told to nobody.
                self._look_around()
                await asyncio.sleep(LOOK_FOR_PROBLEMS_SECONDS)

    async def wait_settled(self) -> None:
        """Return when nodes, checks and Leases were read completely, and all else was or could not be."""
        for source in self._base.values():
            await source.wait_synced()
        await self._around.wait_tried()
        self._look_around()
        await self._kinds.wait_tried()

    async def wait_kinds(self, check: CheckReference) -> None:
        """Return when the kinds that the templates of `check` name were tried, or after two seconds."""
        try:
            async with asyncio.timeout(LONGEST_WAIT_FOR_KINDS_SECONDS):
                await self._kinds.wait_tried_of(check)
        except TimeoutError:
            return

    def age(self) -> timedelta | None:
        """The age of the oldest source that verdicts rest on; None if one was never complete."""
        ages = [source.age() if source.synced else None for source in self._base.values()]
        known = [age for age in ages if age is not None]
        return max(known) if len(known) == len(ages) else None

    def ages(self) -> dict[str, timedelta | None]:
        """How old each source is, by its name; None for one that was never complete."""
        sources = self._base | self._around.served
        ages = {part: source.age() if source.synced else None for part, source in sources.items()}
        return ages | self._kinds.ages()

    def sight(self, check: CheckReference, limit: timedelta) -> Sight:
        """How well is seen what matters to a check, when nothing older than `limit` will do."""
        return Sight(
            self.age(),
            limit,
            self.unread_requests(check, limit),
            self._kinds.unread_templates(check, limit),
            self._around.unread(limit),
        )

    def unread_requests(self, check: CheckReference, limit: timedelta) -> str:
        """Why the requests that matter to `check` are not known well enough to act; "" if they are."""
        return self._kinds.unread_requests(check, limit)

    def _checks_of(self, kind: CheckKind) -> Source:
        resource = resource_of(kind)
        return Reflector(self._transport, resource, CheckRecord, notify=partial(self._check, kind))

    def _node(self, change: Change[Node]) -> None:
        self._picture.target_changed(TargetName("Node", "", change.key.name), change.new)

    def _lease(self, change: Change[LeaseRecord]) -> None:
        self._picture.lease_changed(change.key.name, change.new)

    def _check(self, kind: CheckKind, change: Change[CheckRecord]) -> None:
        reference = CheckReference(kind=kind.kind, namespace=change.key.namespace, name=change.key.name)
        self._picture.check_changed(kind, reference, change.new)
        self._kinds.watch(self._tasks)

    def _look_around(self) -> None:
        self._picture.surround(self._around.now())

    def _report_problems(self) -> None:
        for part, source in self._base.items():
            unread = "" if source.synced else "not read completely yet"
            self._problems.report(part, source.problem or unread)
        for part, source in self._around.sources.items():
            unread = "" if source.synced else "not read completely yet"
            self._problems.report(part, (source.problem or unread) if source.is_served else "")
