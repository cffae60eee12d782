"""TroubleReporter: tells by Events on the checks that wait for it that Temporal or all workers are away.

A check whose targets wait for stuck slots of a limit is told so in the same way.

What the ParamedicStatus says nobody sees who describes a check. A check is told if it has an unhealthy target
or a request: to others nothing happens that would happen else, and an Event on each of hundreds would hide
what is wrong. Who gets its first unhealthy target meanwhile is told then. One Event when it has lasted for a
minute, one when it is over, of the same reasons as those on the ParamedicStatus; a flicker tells nothing. Who
takes the lead meanwhile tells the same: the name of an Event is made of the time at which the condition
turned, so the API server has it already. Who takes it when all is over tells no end: it knows of nobody who
was told. Nothing of this needs Temporal.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable
from datetime import datetime, timedelta

from detector.state.cluster_state import ClusterState
from health.model.event import Event, Severity
from health.model.references import CheckReference
from objects.timestamps import stamp
from runtime.paramedic_status import Answer, ConditionType, ParamedicCondition, ParamedicStatusDocument

TELL_AFTER = timedelta(minutes=1)
LOOK_AGAIN_SECONDS = 10.0
TOLD = (
    ConditionType.TEMPORAL_REACHABLE,
    ConditionType.WORKER_AVAILABLE,
    ConditionType.SLOTS_AVAILABLE,
)
"""What the detector that leads knows of; that none leads it cannot tell."""

Tell = Callable[[CheckReference, Iterable[Event]], bool]
"""Has these told of a check; answers whether that will be done."""


class TroubleReporter:
    """Tells as long as this detector leads."""

    def __init__(
        self,
        cluster_state: ClusterState,
        status: Callable[[], ParamedicStatusDocument | None],
        without_slots: Callable[[], Collection[CheckReference]],
        tell: Tell,
        now: Callable[[], datetime],
    ) -> None:
        """`status` answers what the ParamedicStatus says by this detector; None: nothing yet.

        `without_slots` answers which checks have targets that wait for stuck slots.
        """
        self._cluster_state = cluster_state
        self._without_slots = without_slots
        self._status = status
        self._tell = tell
        self._now = now
        self._told: dict[CheckReference, frozenset[str]] = {}
        """The conditions that a check was told are false."""

    async def lead(self) -> None:
        """Tell until cancelled."""
        self._told.clear()
        while True:
            with self._cluster_state.guard.item("status", "checks that wait for us"):
                self.look()
            await asyncio.sleep(LOOK_AGAIN_SECONDS)

    def look(self) -> None:
        """Tell each check what it is to know now."""
        status, now = self._status(), self._now()
        if status is None:
            return
        self._told = {
            check: told for check, told in self._told.items() if check in self._cluster_state.checks
        }
        for check in self._cluster_state.checks:
            known = self._told.get(check, frozenset())
            due = [one for one in news(status, known, now) if self._concerns(check, one)]
            uid = self._cluster_state.checks[check].record.metadata.uid
            if due and self._tell(check, [event_of(one, uid) for one in due]):
                self._told[check] = known ^ {one.type for one in due}

    def _concerns(self, check: CheckReference, condition: ParamedicCondition) -> bool:
        """Whether it is to know; of what it was told the end concerns it, too."""
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
    """What one is to be told who knows that those conditions are false."""
    known = [one for one in map(status.condition, TOLD) if one is not None]
    return [one for one in known if _is_news(one, now, is_known_false=one.type in known_false)]


def _is_news(condition: ParamedicCondition, now: datetime, *, is_known_false: bool) -> bool:
    """What is unknown is no news: of why that is so, another condition tells."""
    if is_known_false:
        return condition.status == Answer.TRUE
    return condition.status == Answer.FALSE and now - condition.last_transition_time >= TELL_AFTER


def event_of(condition: ParamedicCondition, uid: str) -> Event:
    """What the check of that uid is told of it."""
    is_over = condition.status == Answer.TRUE
    return Event(
        seed="\n".join((uid, condition.type, condition.status, stamp(condition.last_transition_time))),
        severity=Severity.NORMAL if is_over else Severity.WARNING,
        reason=condition.type if is_over else condition.reason,
        message=f"Remediation {'goes on' if is_over else 'waits'}: {condition.message}",
    )
