"""KindActivities: what the worker does for one kind of check, and for no other; the registry has one of each.

All else is done alike for all kinds: looking again, Leases, requests, Events.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from activities.lease_guard import LeaseGuard
from activities.live_objects import ContextReader, LiveObjects, TargetReader, no_context
from activities.revalidation import Confirmed, Revalidation
from activities.step_result import StepResult
from health.model.references import Action, TargetReference
from health.model.remediation_request import Attempt
from kube.client import Client
from kube.connection import ClusterConnection
from kube.resource import Object
from workflows.contracts import ActInput


class StepAction(Protocol):
    """One action."""

    async def take(self, asked: ActInput) -> StepResult:
        """Do it once; raises Held and KubernetesError."""


class ActionDependencies(NamedTuple):
    """What an action works with."""

    connection: ClusterConnection
    """To the management cluster, which targets are in."""
    revalidation: Revalidation
    lease_guard: LeaseGuard


def attempt_of(asked: ActInput) -> Attempt:
    """The incident, its run, and which remediation of the target in a row it is; for requests and Events."""
    return Attempt(incident=asked.incident, run_id=asked.run_id, number=asked.attempt)


class TemplateUse(NamedTuple):
    """What a request is made from."""

    asked: ActInput
    confirmed: Confirmed
    template: Object


class DeletionCounter(NamedTuple):
    """Name and text of the metric that counts deletions of targets."""

    name: str
    text: str


@dataclass(frozen=True, kw_only=True)
class KindActivities:
    """The entry of one kind."""

    read_target: TargetReader
    read_context: ContextReader = no_context
    new_request: Callable[[LiveObjects, TemplateUse], Awaitable[Object]]
    """The request to be created; raises InvalidTemplateError and KubernetesError."""
    actions: Mapping[Action, Callable[[ActionDependencies], StepAction]] = field(default_factory=dict)
    """What its checks do to targets beside requesting that somebody else does something."""
    remove_confirmation: Callable[[Client, TargetReference], Awaitable[None]] | None = None
    """Removes a person's confirmation that the target is healthy; None: its targets have none."""
    deletions: DeletionCounter | None = None
