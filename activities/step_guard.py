"""StepGuard: may hold any step that makes a request, by a rule of the platform that the cluster runs on."""

from collections.abc import Callable
from typing import Protocol

from activities.own_requests import OwnRequests
from health.model.target import Target
from kube.connection import ClusterConnection
from workflows.contracts import ActInput


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
