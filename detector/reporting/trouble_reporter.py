"""TroubleReporter: emits Events on checks that wait because Temporal or all workers are unreachable.

A check whose targets wait for stuck slots gets such an Event too. A user who describes a check does not see
the ParamedicStatus. Only checks with an unhealthy target or a request get the Events: other checks are not
affected, and Events on hundreds of checks would hide the problem. A check that gets its first unhealthy
target later gets its Event then.

One Event is emitted when the problem has lasted for a minute, one at its end, with the reasons of the
ParamedicStatus. The name of an Event is derived from the transition time of the condition, so a new leader
emits no duplicate. A leader that takes over after the end does not report it. All this works without
Temporal.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable
from datetime import datetime, timedelta

from detector.state.cluster_state import ClusterState
from health.model.references import CheckReference
from objects.event import Event, Severity
from objects.timestamps import stamp
from runtime.paramedic_status import Answer, ConditionType, ParamedicCondition, ParamedicStatusDocument

REPORT_AFTER = timedelta(minutes=1)
LOOK_AGAIN_SECONDS = 10.0
REPORTED = (
    ConditionType.TEMPORAL_REACHABLE,
    ConditionType.WORKER_AVAILABLE,
    ConditionType.SLOTS_AVAILABLE,
)
"""The conditions that a leader can report; only a standby can report a missing leader."""

EmitEvents = Callable[[CheckReference, Iterable[Event]], bool]
"""Emits Events on a check; returns whether they will be written."""


class TroubleReporter:
    """Reports on trouble while this detector is the leader."""

    def __init__(
        self,
        cluster_state: ClusterState,
        status: Callable[[], ParamedicStatusDocument | None],
        without_slots: Callable[[], Collection[CheckReference]],
        emit: EmitEvents,
        now: Callable[[], datetime],
    ) -> None:
        """`status` returns the ParamedicStatus of this detector; None before its first report.

        `without_slots` returns the checks whose targets wait for stuck slots.
        """
        self._cluster_state = cluster_state
        self._without_slots = without_slots
        self._status = status
        self._emit = emit
        self._now = now
        self._reported: dict[CheckReference, frozenset[str]] = {}
        """The conditions that were reported on a check as false."""

    async def lead(self) -> None:
        """Emit due Events every ten seconds, until cancelled."""
        self._reported.clear()
        while True:
            with self._cluster_state.guard.item("status", "Events about trouble"):
                self.look()
            await asyncio.sleep(LOOK_AGAIN_SECONDS)

    def look(self) -> None:
        """Emit the Events that are due on each check."""
        status, now = self._status(), self._now()
        if status is None:
            return
        self._reported = {
            check: types for check, types in self._reported.items() if check in self._cluster_state.checks
        }
        for check in self._cluster_state.checks:
            reported = self._reported.get(check, frozenset())
            due = [condition for condition in news(status, reported, now) if self._concerns(check, condition)]
            uid = self._cluster_state.checks[check].record.metadata.uid
            if due and self._emit(check, [event_of(condition, uid) for condition in due]):
                self._reported[check] = reported ^ {condition.type for condition in due}

    def _concerns(self, check: CheckReference, condition: ParamedicCondition) -> bool:
        """True to report the condition on the check; the end of a reported problem always is."""
        state, context = self._cluster_state.checks[check], self._cluster_state.cluster_context
        if state.is_silent_in(context) or state.is_shadow_in(context):
            return False
        if condition.status == Answer.TRUE:
            return True
        if condition.type == ConditionType.SLOTS_AVAILABLE:
            return check in self._without_slots()
        return bool(state.unhealthy or self._cluster_state.requests.targets_of(check))


def news(
    status: ParamedicStatusDocument, known_false: frozenset[str], now: datetime
) -> list[ParamedicCondition]:
    """The conditions to report on a check for which `known_false` were reported."""
    conditions = [condition for condition in map(status.condition, REPORTED) if condition is not None]
    return [
        condition
        for condition in conditions
        if _is_news(condition, now, is_known_false=condition.type in known_false)
    ]


def _is_news(condition: ParamedicCondition, now: datetime, *, is_known_false: bool) -> bool:
    """True to report it; an unknown condition is not reported, as another condition gives the cause."""
    if is_known_false:
        return condition.status == Answer.TRUE
    return condition.status == Answer.FALSE and now - condition.last_transition_time >= REPORT_AFTER


def event_of(condition: ParamedicCondition, uid: str) -> Event:
    """The Event on the check with this uid."""
    is_over = condition.status == Answer.TRUE
    return Event(
        seed="\n".join((uid, condition.type, condition.status, stamp(condition.last_transition_time))),
        severity=Severity.NORMAL if is_over else Severity.WARNING,
        reason=condition.type if is_over else condition.reason,
        message=f"Remediation {'goes on' if is_over else 'waits'}: {condition.message}",
    )
