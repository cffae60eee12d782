"""Answering: serves the activity `observe` and others, polled only while this detector is the leader.

An incident whose answer cannot be computed is held. The cause would be the same a moment later, so the
incident asks again after a minute, or earlier if something changes.
"""

import importlib.metadata
from collections.abc import Callable
from datetime import datetime
from typing import Any

from temporalio import activity
from temporalio.client import Client
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory
from temporalio.worker import PollerBehaviorSimpleMaximum, Worker

from detector.dispatching.dispatch import Dispatch, Observe
from detector.state.cluster_state import ClusterState
from health.cluster.clock_skew import by_temporals_clock
from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.references import IncidentReference
from health.model.request_snapshot import RequestSnapshot
from health.model.verdict import CountedFact
from objects.field_problem import unforeseen
from workflows.contracts import OBSERVE, ObserveInput, detector_queue

ASK_AGAIN_SECONDS = 60.0
POLLERS = 2
"""An answer takes a millisecond, and Temporal allows a namespace a number of polls at a time."""
MOST_AT_ONCE = 8
"""All answers that are due are made in one turn of the event loop, for up to 4 ms each."""
_LONGEST_PROBLEM = 200
"""Characters: an error may quote a whole object."""


class NotLeading(ApplicationError):
    """Another detector is the leader now; Temporal retries the activity there.

    Each hand-over ends questions so: Temporal's SDK logs a benign error without a warning.
    """

    def __init__(self) -> None:
        message = "this detector is no longer the leader"
        super().__init__(message, type="NotLeading", category=ApplicationErrorCategory.BENIGN)


class Answering:
    """Answers incidents from the cluster state, each from one moment."""

    def __init__(
        self,
        observe: Observe,
        dispatch: Dispatch,
        cluster_state: ClusterState,
        is_leader: Callable[[], bool],
        count_on: Callable[[IncidentReference, CountedFact], None],
    ) -> None:
        """`count_on` counts a failure as its incident counted it before this process began."""
        self._count_on = count_on
        self._observe = observe
        self._dispatch = dispatch
        self._cluster_state = cluster_state
        self._is_leader = is_leader

    @activity.defn(name=OBSERVE.name)
    async def observe(self, question: ObserveInput) -> Observation:
        """Return the state of the target, and whether the incident may act, both from one moment."""
        if not self._is_leader():
            raise NotLeading
        return self._answer(question, activity.info().started_time)

    def _answer(self, question: ObserveInput, answered_at: datetime) -> Observation:
        incident, state = question.incident, self._cluster_state
        if question.counted is not None:
            self._count_on(incident, question.counted)
        is_other = state.reported(incident, question.progress)
        by_our_clock = self._observe(incident)
        observation = by_temporals_clock(by_our_clock, answered_at).answered(answered_at)
        with state.guard.item("notes of an answer", incident.full_id) as caught:
            # Before the answer, which is no news to the incident.
            state.found(incident, question.found)
            # Events report the orders and the question; another hold also changes the status.
            state.event_handlers.notify_orders(incident, question.orders, question.progress.unreported)
            if is_other:
                state.event_handlers.notify_change(incident.check, incident.target.name)
            return self._dispatch.answer(incident, observation, by_our_clock, question.intent)
        # Without its notes an admission would have no reservation, so the answer is a hold.
        return _failed(incident, state, caught.error).answered(answered_at)

    def worker(self, client: Client, cluster: str, *others: Callable[..., Any]) -> Worker:
        """The worker that polls for questions; `others` are activities that are served beside `observe`."""
        return Worker(
            client,
            task_queue=detector_queue(cluster),
            activities=[self.observe, *others],
            # Without a build id the SDK hashes all modules, which blocks the event loop for a second.
            build_id=importlib.metadata.version("paramedic"),
            max_concurrent_activities=MOST_AT_ONCE,
            activity_task_poller_behavior=PollerBehaviorSimpleMaximum(POLLERS),
        )


def never_failing(observe: Observe, cluster_state: ClusterState) -> Observe:
    """`observe`, with a hold instead of an exception."""

    def answer(incident: IncidentReference) -> Observation:
        with cluster_state.guard.item("answers", incident.full_id) as caught:
            return observe(incident)
        return _failed(incident, cluster_state, caught.error)

    return answer


def _failed(incident: IncidentReference, cluster_state: ClusterState, error: Exception | None) -> Observation:
    problem = unforeseen(error)[:_LONGEST_PROBLEM]
    message = f"the detector cannot judge {incident.target} by {incident.check}: {problem}"
    hold = Hold(reason=HoldReason.FAILED, message=message, ask_again_seconds=ASK_AGAIN_SECONDS)
    requests: tuple[RequestSnapshot, ...] = ()
    with cluster_state.guard.item("answers", incident.full_id):
        requests = tuple(entry.snapshot for entry in cluster_state.own_requests(incident))
    target = str(incident.target)
    return Observation(state=TargetState.UNKNOWN, reason=target, hold=hold, requests=requests)
