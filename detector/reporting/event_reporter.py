"""EventReporter: writes the Events on checks, on their targets and on the policy.

A storm causes two Events for each node. They are written at a rate that all checks share, so that they do not
compete with the requests. The Events of one check are written in order. An Event that cannot be written is
retried, and does not delay other checks.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

from detector.reporting.report_queue import ReportQueue
from detector.state.cluster_state import ClusterState
from detector.state.target_store import place_of
from health.kinds.registry import CHECK_KINDS
from health.model.approval import Approval
from health.model.node import facts_of_node
from health.model.order import OrderRecord
from health.model.references import CheckReference, IncidentReference
from health.model.target import Target
from health.policy.policy import policy_subject
from kube.client import Client
from kube.events import Events
from kube.rate_limiter import RateLimiter
from objects.event import Event, InvolvedObject, Severity
from objects.timestamps import stamp
from runtime.process_names import DETECTOR

MOST_WAITING = 20_000
"""Limit of the Events of one check that wait: two for each of its nodes."""
EmitEvents = Callable[[CheckReference, Iterable[Event]], bool]
"""Emits Events on a check; returns whether they will be written."""

_log = logging.getLogger(__name__)


class EventReporter:
    """The Events of one detector, while it is the leader."""

    def __init__(  # noqa: PLR0913  each is an independent choice of the wiring
        self,
        client: Client,
        cluster_state: ClusterState,
        *,
        instance: str,
        namespace: str,
        rate_limiter: RateLimiter,
        now: Callable[[], datetime],
    ) -> None:
        """`namespace` is where the ConfigMap of the policy is expected."""
        self._client = client
        self._cluster_state = cluster_state
        self._instance = instance
        self._namespace = namespace
        self._rate_limiter = rate_limiter
        self._now = now
        self._waiting: dict[CheckReference | None, dict[str, tuple[Event, InvolvedObject]]] = {}
        """The unwritten Events of each check by their seeds; None: of the policy."""
        self._of_policy: str | None = None
        """The seed of the latest Event about the policy."""
        self._queue: ReportQueue[CheckReference | None] = ReportQueue(
            name="events", report=self._write, guard=cluster_state.guard, rest=lambda _: timedelta()
        )

    async def lead(self) -> None:
        self._of_policy = None
        try:
            await self._queue.lead(self.policy_changed)
        finally:
            self._waiting.clear()

    def emit(self, check: CheckReference, events: Iterable[Event]) -> bool:
        """Emit Events on a check or its targets; returns whether they will be written.

        A detector that does not lead emits nothing. An Event that waits already is written once.
        """
        check_state = self._cluster_state.checks.get(check)
        if check_state is None or not self._queue.is_leading:
            return False
        kind = CHECK_KINDS[check.group_kind]
        of_check = InvolvedObject(
            api_version=kind.api_version,
            kind=check.kind,
            namespace=check.namespace,
            name=check.name,
            uid=check_state.record.metadata.uid,
        )
        return self._put(check, ((event, event.subject or of_check) for event in events))

    def policy_changed(self) -> None:
        """Emit an Event on the ConfigMap about each of its edits, or about a missing policy.

        Each edit is reported once, by whichever leader: the name of its Event is derived from the edit.
        """
        policy = self._cluster_state.cluster_context.policy
        if not (policy.stored or policy.is_missing) or policy.event.seed == self._of_policy:
            return
        about = policy.stored.subject if policy.stored else policy_subject(self._namespace)
        if self._put(None, [(policy.event, about)]):
            self._of_policy = policy.event.seed

    def ordered(
        self, incident: IncidentReference, orders: Sequence[OrderRecord], approval: Approval | None
    ) -> None:
        """Emit an Event on the target for each order and each question, unless the check is in shadow."""
        check_state = self._cluster_state.checks.get(incident.check)
        if check_state is None or check_state.is_shadow_in(self._cluster_state.cluster_context):
            return
        events = [order_event(incident, order) for order in orders]
        if approval is not None and approval.answer is None:
            events.append(approval_event(incident, approval))
        if events:
            self.emit(incident.check, events)

    def forget(self, check: CheckReference) -> None:
        """Drop the waiting Events of a check: from now on nothing may be written for it."""
        self._waiting.get(check, {}).clear()

    def _put(self, check: CheckReference | None, events: Iterable[tuple[Event, InvolvedObject]]) -> bool:
        if not self._queue.is_leading:
            return False
        waiting = self._waiting.setdefault(check, {})
        for event, about in events:
            if event.seed not in waiting and len(waiting) >= MOST_WAITING:
                _log.warning(
                    "Event dropped, as too many wait", extra={"check": check, "reason": event.reason}
                )
                return False
            waiting[event.seed] = event, about
        self._queue.put(check)
        return True

    async def _write(self, check: CheckReference | None) -> None:
        """Write the waiting Events of a check, unless it is deleted, or of the policy."""
        component = DETECTOR if check is None else CHECK_KINDS[check.group_kind].component
        events, waiting = Events(self._client, component, self._instance), self._waiting.get(check, {})
        while waiting:
            await self._rate_limiter.acquire()
            if check is not None and check not in self._cluster_state.checks:
                waiting.clear()
            if not waiting:  # dropped meanwhile
                break
            event, about = next(iter(waiting.values()))
            await events.write(event, about, self._now())
            waiting.pop(event.seed, None)
        self._waiting.pop(check, None)


def involved(check: CheckReference, target: Target) -> InvolvedObject:
    """The target as the object of an Event."""
    reference = place_of(check).reference(target.metadata.name, target.metadata.uid)
    return CHECK_KINDS[check.group_kind].involved(reference)


def order_event(incident: IncidentReference, order: OrderRecord) -> Event:
    """The Event of this order; its seed is the same in every question that has the order."""
    until = f", until {stamp(order.until)}" if order.until else ""
    refused = f"; refused: {order.refused}" if order.refused else ""
    of_order = (incident.workflow_id, order.order, order.step, order.given.isoformat())
    return Event(
        seed="\n".join((*of_order, "refused" if order.refused else "given")),
        severity=Severity.WARNING if order.refused else Severity.NORMAL,
        reason="OrderRefused" if order.refused else "OrderReceived",
        message=f"{incident.check}: {order.words}{until}{refused}",
        subject=CHECK_KINDS[incident.check.group_kind].involved(incident.target),
    )


def approval_event(incident: IncidentReference, approval: Approval) -> Event:
    """The Event that asks for this approval, or says that the question expired."""
    reason = "ApprovalExpired" if approval.is_expired else "ApprovalRequired"
    expired_at = (stamp(approval.expires_at),) if approval.is_expired and approval.expires_at else ()
    question = (incident.workflow_id, approval.name, approval.asked_at.isoformat())
    return Event(
        seed="\n".join((*question, reason, *expired_at)),
        severity=Severity.WARNING,
        reason=reason,
        message=f"{incident.check}: {approval.words}",
        subject=CHECK_KINDS[incident.check.group_kind].involved(incident.target),
    )


class SharedNames:
    """Emits the Event that two machines use the name of one Node: a boot came back after another one.

    It is emitted when this becomes true, and not again while it stays true.
    """

    def __init__(self, cluster_state: ClusterState, emit: EmitEvents) -> None:
        self._cluster_state = cluster_state
        self._emit = emit
        self._reported: set[tuple[CheckReference, str]] = set()

    def changed(self, check: CheckReference, target: str | None) -> None:
        """Report a target whose Node has changed; a detector that does not lead emits nothing."""
        check_state = self._cluster_state.checks.get(check)
        if target is None or check_state is None:
            return
        found, key = self._cluster_state.targets.get(check, target), (check, target)
        if found is None or target not in check_state.selected or not facts_of_node(found).shared_name:
            self._reported.discard(key)
            return
        if key in self._reported or check_state.is_shadow_in(self._cluster_state.cluster_context):
            return
        event = Event(
            seed=f"{found.metadata.uid}\n{facts_of_node(found).boot_id}\nshared name",
            severity=Severity.WARNING,
            reason="NameUsedTwice",
            message=facts_of_node(found).shared_name,
            subject=involved(check, found),
        )
        if self._emit(check, [event]):
            self._reported.add(key)
