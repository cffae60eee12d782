"""One incident in each phase, the changes during an outage, and the expected result.

The facts of all incidents change during the outage. The facts alone determine the expected result: it is the
same for every kind and length of outage.
"""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

from health.model.annotations import HOLD
from health.model.incident_result import IncidentResult
from health.model.node import EXCLUDE_LABEL
from kube.resource import NODES
from tests.end_to_end.restarts.audit import created_requests
from tests.end_to_end.restarts.crew import Crew
from tests.end_to_end.restarts.escalations import COURSES as ESCALATIONS
from tests.end_to_end.restarts.escalations import Course, Escalations
from tests.support.story.other_kind import OtherKind
from tests.support.story.slow_create import SlowCreate, slow_create
from tests.support.story.world import REQUESTS, World

DURATION = timedelta(minutes=5)
"""The duration of the check.

Each node fails early enough that its deadline is at the time that the test needs.
"""

PATIENCE = timedelta(seconds=90)
LONG_AGO = timedelta(minutes=-1)
LATEST = timedelta(seconds=20)
"""How late an incident may act on a deadline that passes after the outage."""


COURSES = {
    "runs-out": Course("Waiting", "Remediating", 1),  # the timer runs out during the outage
    "waits": Course("Waiting", "Remediating", 1),  # the deadline is after the outage
    "recovers": Course("Waiting", "Recovered", 0),
    "is-held": Course("Held", "Remediating", 1),  # the reason of the hold goes away
    "is-annotated": Course("Held", "Remediating", 1),  # a person removes `paramedic.dev/hold`
    "gets-annotated": Course("Waiting", "Held", 0),  # its timer runs out, and a person has set the annotation
    "is-acted-on": Course("Acting", "Remediating", 1),
    "is-mended": Course("Remediating", "Remediated", 1),
    "stays-down": Course("Remediating", "Remediating", 1),
    "hangs": Course("CleaningUp", "Remediated", 1),  # the finalizer is removed
    "is-left-alone": Course("LeftAlone", "LeftAlone", 0),  # its timer runs out
}
ENDED = ("Recovered", "Remediated")
OPEN = {role: course for role, course in COURSES.items() if course.after not in ENDED}
REMEDIATED = [role for role, course in OPEN.items() if course.after == "Remediating"]


class Incidents:
    def __init__(self, world: World, crew: Crew, audit_log: Path, second_kind: OtherKind) -> None:
        world.patience = PATIENCE
        self._world = world
        self._crew = crew
        self._audit_log = audit_log
        self._escalations = Escalations(world, audit_log, second_kind)
        self._nodes: dict[str, str] = {}
        self._failed_at: dict[str, datetime] = {}

    @asynccontextmanager
    async def begun(
        self, directory: Path, runs_out_in: timedelta, waits_for: timedelta
    ) -> AsyncIterator[SlowCreate]:
        """Bring each incident into its phase; one create stays in flight until the test lets it go.

        From now on one timer runs out in `runs_out_in`, and another one after the outage.
        """
        world = self._world
        await self._escalations.begin()
        self._nodes = await world.add_named_nodes(*COURSES)
        await world.add_check(duration=f"{DURATION.total_seconds():g}s")
        await world.until_status(observedNodes=len(COURSES), healthyNodes=len(COURSES))
        await self._begin_remediations()
        await self._begin_timers(runs_out_in, waits_for)
        async with slow_create(world.client, self._nodes["is-acted-on"], directory) as create:
            await self._fail("is-acted-on", LONG_AGO)
            await create.until_in_flight()
            for role, course in COURSES.items():
                assert (await world.state(self._nodes[role])).phase == course.before, role
            yield create

    async def _begin_remediations(self) -> None:
        world, nodes = self._world, self._nodes
        for role in ("is-held", "is-annotated"):
            await self._exclude(role, value="true")
        for role in ("is-held", "is-annotated", "is-mended", "stays-down", "hangs"):
            await self._fail(role, LONG_AGO)
        for role in ("is-held", "is-annotated", "is-mended", "stays-down"):
            await world.until_phase(nodes[role], COURSES[role].before)
        # A node that is replaced by a failed one keeps labels alone.
        await self._hold("is-annotated", value="a disk")
        await self._exclude("is-annotated", value=None)
        await world.until_requested(nodes["hangs"])
        await world.set_finalizers(nodes["hangs"], ["example.com/keep"])
        await world.recover(nodes["hangs"])
        await world.until_phase(nodes["hangs"], "CleaningUp")

    async def _begin_timers(self, runs_out_in: timedelta, waits_for: timedelta) -> None:
        world, nodes = self._world, self._nodes
        await self._fail("runs-out", runs_out_in)
        await self._fail("is-left-alone", runs_out_in)
        await self._fail("gets-annotated", runs_out_in)
        await self._fail("waits", waits_for)
        await self._fail("recovers", waits_for)
        for role in ("runs-out", "is-left-alone", "gets-annotated", "waits", "recovers"):
            await world.until_phase(nodes[role], "Waiting")
        await (await world.workflow(nodes["is-left-alone"])).execute_update("abort")
        await world.until_phase(nodes["is-left-alone"], "LeftAlone")

    async def _fail(self, role: str, deadline_in: timedelta) -> None:
        since = (datetime.now(UTC) + deadline_in - DURATION).replace(microsecond=0)
        self._failed_at[role] = since
        await self._world.replace_by_failed(self._nodes[role], since)

    async def _exclude(self, role: str, *, value: str | None) -> None:
        patch = {"metadata": {"labels": {EXCLUDE_LABEL: value}}}
        await self._world.client.merge_patch(NODES, self._nodes[role], patch)

    async def _hold(self, role: str, *, value: str | None) -> None:
        patch = {"metadata": {"annotations": {HOLD: value}}}
        await self._world.client.merge_patch(NODES, self._nodes[role], patch)

    def _deadline(self, role: str) -> datetime:
        return self._failed_at[role] + DURATION

    async def change(self, create: SlowCreate) -> None:
        """Change the facts of every incident, except those that continue unchanged."""
        world, nodes = self._world, self._nodes
        create.let_go()
        await self._escalations.change()
        await world.recover(nodes["recovers"], nodes["is-mended"])
        await self._exclude("is-held", value=None)
        await self._hold("is-annotated", value=None)
        await self._hold("gets-annotated", value="a disk")
        await world.set_finalizers(nodes["hangs"], None)

    async def until_run_out(self) -> None:
        """Wait until the timer has run out."""
        await self._until_deadline("runs-out")

    async def _until_deadline(self, role: str) -> None:
        await asyncio.sleep((self._deadline(role) - datetime.now(UTC)).total_seconds())

    async def must_have_gone_on(self) -> None:
        """Each incident must follow the facts, and the status of the check must agree."""
        world, nodes = self._world, self._nodes
        await self._until_deadline("waits")  # before its deadline its phase cannot be reached
        for role, course in COURSES.items():
            if course.after in ENDED:
                assert await world.outcome(nodes[role]) == course.after, role
                await world.until_clean(nodes[role])
            else:
                await world.until_phase(nodes[role], course.after)
        await self._requests_must_be(REMEDIATED)
        for role in REMEDIATED:
            assert await world.lease(nodes[role]) is not None, role
        await self._times_must_be_kept()
        await self._status_must_be_true()
        await self._escalations.must_have_gone_on()

    async def _requests_must_be(self, roles: Collection[str]) -> None:
        """Only these incidents have a request, and none ever had more requests than expected."""
        nodes = self._nodes
        found = {
            request["metadata"]["name"] for request in await self._world.client.list(REQUESTS, "default")
        }
        assert {role for role, node in nodes.items() if node in found} == set(roles)
        created = created_requests(self._audit_log)
        # The log may report a create as failed although it was stored, if its client was killed.
        log = self._world.requests
        made = {role: max(created.count(node), log.created(node)) for role, node in nodes.items()}
        assert made == {role: course.requests for role, course in COURSES.items()}, made

    async def _times_must_be_kept(self) -> None:
        for role in OPEN:
            node = await self._world.client.get(NODES, self._nodes[role])
            (ready,) = node["status"]["conditions"]
            assert _time(ready["lastTransitionTime"]) == self._failed_at[role], role
        assert await self._lateness("runs-out") >= timedelta()
        assert timedelta() <= await self._lateness("waits") <= LATEST

    async def _lateness(self, role: str) -> timedelta:
        request = await self._world.request(self._nodes[role])
        return _time(request["metadata"]["creationTimestamp"]) - self._deadline(role)

    async def _status_must_be_true(self) -> None:
        world, nodes = self._world, self._nodes
        uids = {nodes[role]: (await world.request(nodes[role]))["metadata"]["uid"] for role in REMEDIATED}
        expected = {nodes[role]: [] for role in OPEN} | {node: [uid] for node, uid in uids.items()}
        healthy = len(COURSES) - len(OPEN)
        await world.until_status(observedNodes=len(COURSES), healthyNodes=healthy, phase="Remediating")

        async def is_reported() -> bool:
            unhealthy = (await world.status())["unhealthyNodes"]
            return expected == {
                node["name"]: [entry["resource"]["uid"] for entry in node.get("remediations", [])]
                for node in unhealthy
            }

        await world.until(is_reported, f"the status never told {expected}")

    @property
    def recovered_last(self) -> list[str]:
        """The nodes that recover after the others are clean."""
        return [self._nodes[role] for role in OPEN]

    async def must_end_clean(self) -> None:
        """After the recovery of all nodes nothing may be left, nothing done twice, and no process dead."""
        self._crew.nobody_must_have_died()
        world, nodes = self._world, self._nodes
        await world.recover(*self.recovered_last)
        for role in OPEN:
            outcome = "Remediated" if role in REMEDIATED else "Recovered"
            assert await world.outcome(nodes[role]) == outcome, role
        await world.until_clean(*nodes.values())
        await world.until_status(healthyNodes=len(COURSES), phase="Enabled", unhealthyNodes=None)
        await self._escalations.must_end_clean()
        await self._requests_must_be(())
        await self._workflows_must_be_one_for_each()
        for role in COURSES:
            await self._timeline_must_be_whole(role)

    async def _timeline_must_be_whole(self, role: str) -> None:
        """The incident remembers what was before the outage, and nothing of it twice."""
        result = await (await self._world.workflow(self._nodes[role])).result()
        entries = IncidentResult.model_validate(result).timeline.entries
        assert COURSES[role].before in {entry.phase for entry in entries}, role
        assert list(entries) == sorted(entries, key=lambda entry: entry.at), role
        assert not any(later.is_like(earlier) for earlier, later in pairwise(entries)), role

    async def _workflows_must_be_one_for_each(self) -> None:
        temporal, ours = self._world.temporal, f"ParamedicCluster = '{self._world.cluster}'"

        async def all_ended() -> bool:
            return (await temporal.count_workflows(f"{ours} AND ExecutionStatus = 'Running'")).count == 0

        await self._world.until(all_ended, "a workflow still runs")
        assert (await temporal.count_workflows(ours)).count == len(COURSES) + len(ESCALATIONS)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
