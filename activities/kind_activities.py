"""KindActivities: the parts of the activities that differ by kind of check; the registry has one per kind.

All else is the same for all kinds: revalidation, Leases, requests, Events.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from activities.attempt import StepResult
from activities.live_objects import ContextReader, LiveObjects, TargetReader, no_context
from activities.requests import OwnRequests
from activities.revalidation import Confirmed, Revalidation
from activities.target_lease import LeaseGuard
from health.model.references import Action, TargetReference
from health.model.remediation_request import RemediationAttempt
from health.model.target import Target
from kube.client import Client
from kube.connection import ClusterConnection
from kube.resource import Object
from workflows.contracts import ActInput


class StepAction(Protocol):
    """One action of a step, such as a deletion."""

    async def take(self, act: ActInput) -> StepResult:
        """Take the step once.

        Raises:
            StepHeld: nothing was done.
            KubernetesError: the API server could not be asked, or refused.

        """


def attempt_of(act: ActInput) -> RemediationAttempt:
    """The incident, its run, and the number of this remediation in a row; for requests and Events."""
    return RemediationAttempt(incident=act.incident, run_id=act.run_id, number=act.attempt)


class TemplateUse(NamedTuple):
    """The input for the contents of a request."""

    act: ActInput
    confirmed: Confirmed
    template: Object


class DeletionCounter(NamedTuple):
    """Name and description of the metric that counts deletions of targets."""

    name: str
    text: str


@dataclass(frozen=True, kw_only=True)
class KindActivities:
    """The entry of one kind in the registry."""

    read_target: TargetReader
    read_context: ContextReader = no_context
    new_request: Callable[[LiveObjects, TemplateUse], Awaitable[Object]]
    """The request to create; raises InvalidTemplateError and KubernetesError."""
    actions: Mapping[Action, Callable[[Revalidation, LeaseGuard], StepAction]] = field(default_factory=dict)
    """The actions of its checks besides requests."""
    remove_confirmation: Callable[[Client, TargetReference], Awaitable[None]] | None = None
    """Removes a person's confirmation that the target is healthy; None: its targets have none."""
    deletions: DeletionCounter | None = None


class StepGuard(Protocol):
    """One rule, asked after the revalidation and before the Lease is acquired; it changes nothing."""

    async def refuse(self, act: ActInput, target: Target) -> None:
        """Return if the request may be made.

        Raises:
            StepHeld: it must not be made now.
            KubernetesError: the API server could not be asked.

        """


NewStepGuard = Callable[[ClusterConnection, OwnRequests], StepGuard]
"""Makes the guard of the management cluster."""
