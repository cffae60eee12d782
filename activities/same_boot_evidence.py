"""SameBootEvidence: refuse a step against a healthy target unless the cluster shows its remediation.

If a check requires proof of recovery (ADR 38), an incident may act on a healthy target that has not booted
since the first step. Only the incident knows which step that was, and other clients may write its input
(rule 52). So the cluster must confirm it: by a request of the incident from this boot, or, after a mark or
the deletion of the requests, by a Lease of the target that the check holds.
"""

from activities.attempt import InputRefused
from activities.own_requests import OwnRequests
from activities.revalidation import not_true
from activities.target_lease import TargetLeases
from health.check.same_boot import SAME_BOOT
from health.model.references import RequestReference
from health.model.remediation_request import BOOT_ID
from workflows.contracts import ActInput


class SameBootEvidence:
    """Looks in the API server for requests and Leases."""

    def __init__(self, requests: OwnRequests, leases: TargetLeases) -> None:
        self._requests = requests
        self._leases = leases

    async def confirm(self, act: ActInput) -> None:
        """Return, unless the step acts only because the target did not boot.

        Raises:
            StepHeld: nothing shows that the target is being remediated.
            KubernetesError: the API server could not be asked.

        """
        if act.fact.condition != SAME_BOOT or await self._leases.is_held(act.incident):
            return
        for request in act.requests:
            if await self._boot_before(request, act) == act.fact.status:
                return
        raise not_true(f"nothing shows that {act.incident.target} was remediated in this boot")

    async def _boot_before(self, request: RequestReference, act: ActInput) -> str | None:
        try:
            found = await self._requests.find(request, act.incident)
        except InputRefused:
            return None
        annotations = found["metadata"].get("annotations") if found else None
        return (annotations or {}).get(BOOT_ID)
