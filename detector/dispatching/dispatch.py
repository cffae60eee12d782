"""Dispatch: wanted incidents against open ones, as a reconciliation.

Wanted: one incident for each unhealthy target, and one for each request of ours, so that nothing is left
behind by a workflow that was terminated. Open: what Temporal lists, at the start of the lead and every five
minutes, plus what was started since. What is wanted and not open is started, with what the detector sees; an
open one whose answer changed is woken by `wake`. In the order of deadlines, retried with back-off.

Of an incident that has just ended, a watch that lags may still show the request that it knew. So what is
known to be open, and is wanted for such a request alone, is not started again before every watch had the time
to tell the truth. A request that appeared since is news, and gets an incident at once.

The first starts wait for no list: visibility may lag or be away, and a start finds out by itself whether its
incident is open. The list adds the open incidents that nothing in the cluster asks for any more.
"""

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta

from temporalio.service import RPCError, RPCStatusCode

from detector.dispatching.dispatch_queue import DispatchQueue, urgency
from detector.dispatching.incident_calls import IncidentCalls
from detector.dispatching.open_incidents import OpenIncident, OpenIncidents
from detector.state.cluster_state import ClusterState
from health.model.observation import Observation
from health.model.references import CheckReference, IncidentReference
from health.runbook.wake_up import appeared, has_late_request, needs_wake_up
from runtime.listed_incidents import ListedIncident
from runtime.problems import Problems
from runtime.retrying import one_sentence, retry_forever
from runtime.temporal_trouble import is_silence
from workflows.contracts import FRESH

RECONCILE_EVERY = timedelta(minutes=5)
CALLS_AT_ONCE = 20
LONGEST_BACK_OFF_SECONDS = 10.0
REFUSED_SECONDS = 10.0
"""After which a call is tried again that Temporal refused, for a reason of this one incident."""
ALL_SEEN = timedelta(seconds=45)
"""By then every watch that works was proven fresh: what is still seen so long after its end is there."""
ACTED_ON_WITHIN = FRESH + timedelta(seconds=3)
"""What an incident makes on an admission is seen by then: two seconds for clocks, one for the watch."""
VISIBLE_AFTER = timedelta(seconds=30)
"""A workflow that was started may be missing from lists for so long: visibility is eventually consistent."""

Observe = Callable[[IncidentReference], Observation]
"""What the detector sees of an incident now."""


class Dispatch:
    """Starts and wakes the incidents of one cluster, while this detector holds the lead."""

    def __init__(  # noqa: PLR0913  each is a choice of whoever wires it
        self,
        calls: IncidentCalls,
        cluster_state: ClusterState,
        observe: Observe,
        *,
        is_leader: Callable[[], bool],
        now: Callable[[], datetime],
        problems: Problems,
    ) -> None:
        self._calls = calls
        self._cluster_state = cluster_state
        self._observe = observe
        self._is_leader = is_leader
        self._now = now
        self._problems = problems
        self._open = OpenIncidents()
        self._queue = DispatchQueue()
        self._said: dict[CheckReference, bool | None] = {}
        self._is_leading = False

    async def lead(self) -> None:
        """Dispatch until cancelled."""
        self._is_leading = True
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._reconcile_for_ever())
                for _ in range(CALLS_AT_ONCE):
                    tasks.create_task(self._call_for_ever())
        finally:
            self._is_leading = False
            self._open.clear()
            self._queue.clear()

    @property
    def open_incidents(self) -> tuple[OpenIncident, ...]:
        """The incidents that are open as far as we know; none while another detector leads."""
        return self._open.all()

    def answered(
        self, incident: IncidentReference, observation: Observation, *, would_act: bool = True
    ) -> None:
        """Note what `observe` answered an incident, and whether that would act on an admission."""
        self._open.put(incident, observation, self._now(), would_act=would_act)

    def changed(self, check: CheckReference, target: str | None) -> None:
        """Start or wake the incidents whose answer may be another now, while we lead."""
        if not self._is_leading:
            return
        if target is not None:
            for incident in self._cluster_state.wanted(check, target) | self._open.of(check, target):
                self._consider(incident)
        elif self._turned(check):
            for entry in self._open.all():
                if entry.incident.check == check:
                    self._consider(entry.incident)

    def _turned(self, check: CheckReference) -> bool:
        """Whether the check says something else to all of its incidents; a number alone wakes nobody.

        One that is frozen or cannot be read says nothing, also of what goes meanwhile.
        """
        allowance = self._cluster_state.allowance(check)
        says = None if allowance is None or self._cluster_state.checks[check].is_silent else allowance.allowed
        before, self._said[check] = self._said.get(check), says
        return before != says

    def _consider(self, incident: IncidentReference) -> None:
        """Queue the incident if it must be started or woken."""
        with self._cluster_state.guard.item("dispatch", incident.workflow_id):
            self._compare(incident)

    def _compare(self, incident: IncidentReference) -> None:
        observation = self._observe(incident)
        entry = self._open.get(incident)
        if (
            entry is None
            or entry.last_observation is None
            or _needs_wake_up(entry, entry.last_observation, observation)
        ):
            self._queue.put(incident, urgency(observation))
        else:
            self._open.no_news(incident, observation)  # what comes next is compared with this

    async def _call_for_ever(self) -> None:
        failures = 0
        while True:
            incident = await self._queue.get()
            try:
                with self._cluster_state.guard.item("dispatch", incident.workflow_id) as caught:
                    failures = await self._try_to_call(incident, failures)
                if caught.error is not None:
                    # Tried again with its next change, or the next reconciliation; the queue goes on.
                    self._open.put(incident, None, self._now())
            finally:
                self._queue.done(incident)

    async def _try_to_call(self, incident: IncidentReference, failures: int) -> int:
        """Call it; answers how many calls in a row Temporal did not answer.

        What it refuses of one incident is tried again later, and keeps no caller from the others.
        """
        try:
            await self._call(incident)
        except RPCError as error:
            self._problems.report("dispatch", one_sentence(error))
            if not (is_silence(error) or error.status is RPCStatusCode.RESOURCE_EXHAUSTED):
                asyncio.get_running_loop().call_later(REFUSED_SECONDS, self._consider_again, incident)
                return 0
            await asyncio.sleep(_back_off(failures + 1))
            self._consider(incident)
            return failures + 1
        self._problems.report("dispatch", "")
        return 0

    async def _call(self, incident: IncidentReference) -> None:
        """Start or wake one incident, by what is so now.

        A process that was frozen knows of the end of its lead before it is told to stop leading.
        """
        if not self._is_leader():
            return
        observation = self._observe(incident)
        is_wanted = incident in self._cluster_state.wanted(incident.check, incident.target.name)
        entry = self._open.get(incident)
        if not is_wanted and entry is None:
            return
        last_observation = entry.last_observation if entry else None
        is_started = is_wanted and (last_observation is None or observation.is_unhealthy)
        # Noted before the call: a change that comes while it is under way is compared with what it says.
        self._open.put(incident, observation, self._now())
        try:
            if is_started:
                await self._calls.start(incident, observation)
            else:
                await self._calls.wake(incident)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND and not is_started:
                self._has_ended(
                    incident,
                    knew_all=last_observation is not None and not appeared(last_observation, observation),
                )
                return
            self._open.put(incident, None, self._now())
            raise

    def _has_ended(self, incident: IncidentReference, *, knew_all: bool) -> None:
        """Start it again at once if a request appeared since it was told of any, else when all is seen."""
        self._open.remove(incident)
        if not knew_all:
            self._reconsider(incident)
            return
        asyncio.get_running_loop().call_later(ALL_SEEN.total_seconds(), self._reconsider, incident)

    def _consider_again(self, incident: IncidentReference) -> None:
        if self._is_leading:
            self._consider(incident)

    def _reconsider(self, incident: IncidentReference) -> None:
        """Start it again if a request is still there, which nobody takes care of."""
        if self._is_leading and self._open.get(incident) is None:
            self._consider(incident)

    async def _reconcile_for_ever(self) -> None:
        for incident in list(self._cluster_state.all_wanted()):
            self._consider(incident)
        while True:
            with self._cluster_state.guard.item("dispatch", "reconciliation"):
                listed = await retry_forever("incidents", self._calls.running, (RPCError,), self._problems)
                self._reconcile({one.workflow_id: one.incident for one in listed})
                await self._wake_strangers(listed)
            await asyncio.sleep(RECONCILE_EVERY.total_seconds())

    async def _wake_strangers(self, listed: Iterable[ListedIncident]) -> None:
        """Wake those that do not say which incident they are, and were not answered yet: they ask."""
        known = {entry.incident.workflow_id for entry in self._open.all()}
        for one in listed:
            if one.incident is None and one.workflow_id not in known:
                with self._cluster_state.guard.item("dispatch", one.workflow_id), suppress(RPCError):
                    await self._calls.wake_workflow(one.workflow_id)

    def _reconcile(self, running: Mapping[str, IncidentReference | None]) -> None:
        """Compare what there should be with what runs, by workflow id; None where no memo says what it is."""
        for entry in self._open.all():
            if entry.incident.workflow_id not in running and self._is_visible(entry):
                self._open.remove(entry.incident)
        identified = [incident for incident in running.values() if incident is not None]
        for incident in identified:
            if self._open.get(incident) is None:
                self._open.put(incident, None, self._now())
        for incident in {*self._cluster_state.all_wanted(), *identified}:
            self._consider(incident)

    def _is_visible(self, entry: OpenIncident) -> bool:
        return self._now() - entry.since > VISIBLE_AFTER


def _needs_wake_up(entry: OpenIncident, last_observation: Observation, observation: Observation) -> bool:
    return needs_wake_up(last_observation, observation) or has_late_request(
        last_observation, observation, entry.admitted, ACTED_ON_WITHIN
    )


def _back_off(failures: int) -> float:
    longest = min(0.5 * 2 ** min(failures, 10), LONGEST_BACK_OFF_SECONDS)
    return random.uniform(longest / 2, longest)  # noqa: S311  spreads retries, hides no secret
