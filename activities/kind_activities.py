"""KindActivities: the parts of the activities that differ by kind of check; the registry has one per kind.

All else is the same for all kinds: revalidation, Leases, requests, Events.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple

from activities.attempt import FactAge, StepHeld
from activities.live_objects import LiveObjects
from activities.revalidation import CheckT, Confirmed, TargetT
from health.cluster.cluster_context import ClusterContext
from health.model.references import TargetReference
from health.model.remediation_request import RemediationAttempt
from kube.client import Client
from kube.resource import Object
from objects.event import Event
from workflows.contracts import ActInput


@dataclass(frozen=True)
class ConfirmedStep(Generic[CheckT, TargetT]):
    """One step, with the live objects that it was confirmed by."""

    act: ActInput
    confirmed: Confirmed[CheckT, TargetT]
    live: LiveObjects
    age: FactAge
    """The age of the facts that it was confirmed by, for a write that is tried again."""

    @property
    def attempt(self) -> RemediationAttempt:
        """The incident, its run, and the number of this remediation in a row; for requests and Events."""
        return RemediationAttempt(incident=self.act.incident, run_id=self.act.run_id, number=self.act.attempt)


class TargetGone(StepHeld):
    """The target disappeared before a write that would have removed it, so nothing is left to do."""


StepWrite = Callable[[], Awaitable[Event | None]]
"""The write of a step, under the Lease of its target; returns the Event about it.

Raises StepHeld and KubernetesError: nothing was done, or the result is unknown.
"""
StepAction = Callable[[ConfirmedStep[CheckT, TargetT]], Awaitable[StepWrite | None]]
"""The guards of one action, such as a deletion, before its write; None: the step was taken already.

Raises StepHeld and KubernetesError: the step must not be taken now.
"""


class DeletionCounter(NamedTuple):
    """Name and description of the metric that counts deletions of targets."""

    name: str
    text: str


class KindActivities(ABC, Generic[CheckT, TargetT]):
    """The reads and writes of one kind of check; an act passes it the checks and targets of that kind."""

    deletions: DeletionCounter | None = None

    @abstractmethod
    async def read_target(
        self, live: LiveObjects, reference: TargetReference, context: ClusterContext
    ) -> TargetT:
        """The target of that name, with any uid.

        Raises KubernetesError, NotFound if the target is gone, and ValidationError.
        """

    async def read_context(self, live: LiveObjects, check: CheckT) -> ClusterContext:  # noqa: ARG002
        """The cluster context that the rules of the kind use; by default they only use targets.

        Raises KubernetesError and ValidationError.
        """
        return ClusterContext()

    @abstractmethod
    async def new_request(self, step: ConfirmedStep[CheckT, TargetT], template: Object) -> Object:
        """The request to create; raises InvalidTemplateError and KubernetesError."""

    @property
    def actions(self) -> Mapping[str, StepAction[CheckT, TargetT]]:
        """The actions of its checks besides requests."""
        return {}

    async def remove_confirmation(self, client: Client, target: TargetReference) -> None:
        """Remove a person's confirmation that the target is healthy, if its targets have any."""
