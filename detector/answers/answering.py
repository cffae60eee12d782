"""Answering: the activity `observe`, polled only while this detector holds the lead."""

from collections.abc import Callable

from temporalio import activity
from temporalio.client import Client
from temporalio.worker import Worker

from detector.dispatching.dispatch import Dispatch
from detector.state.cluster_state import ClusterState
from health.model.observation import Observation
from health.model.references import IncidentReference
from workflows.contracts import OBSERVE, ObserveInput, detector_queue


class NotLeading(Exception):
    """Another detector answers now; Temporal asks again."""


class Answering:
    """Answers incidents from the cluster state."""

    def __init__(
        self,
        observe: Callable[[IncidentReference], Observation],
        dispatch: Dispatch,
        cluster_state: ClusterState,
        is_leader: Callable[[], bool],
    ) -> None:
        self._observe = observe
        self._dispatch = dispatch
        self._cluster_state = cluster_state
        self._is_leader = is_leader

    @activity.defn(name=OBSERVE.name)
    async def observe(self, asked: ObserveInput) -> Observation:
        """What is with the target, and may the incident act: one answer from one moment."""
        if not self._is_leader():
            raise NotLeading("this detector does not hold the lead any more")
        observation = self._observe(asked.incident)
        with self._cluster_state.guard.item("notes of an answer", asked.incident.workflow_id):
            self._dispatch.answered(asked.incident, observation, would_act=asked.would_act)
            self._cluster_state.found(asked.incident, asked.found)
        return observation.model_copy(update={"answered_at": activity.info().started_time})

    def worker(self, client: Client, cluster: str) -> Worker:
        """The worker that polls for questions."""
        return Worker(client, task_queue=detector_queue(cluster), activities=[self.observe])
