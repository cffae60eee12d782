"""What the demo remediator does next about one request. Pure: looked at again after every step.

The boot ID from before the power cycle is kept in the request's status. A node with another one has been
power-cycled, by whoever and however often we were restarted meanwhile.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from devcluster.simulation.remediation_request import RemediationRequest


@dataclass(frozen=True)
class Nothing:
    """The request is done, is being deleted, or somebody asked to stop."""


@dataclass(frozen=True)
class Begin:
    """Note the boot ID and say that work is under way."""

    boot_id: str


@dataclass(frozen=True)
class SwitchOffAndOn:
    """Power-cycle the node."""

    power_off: timedelta


@dataclass(frozen=True)
class Succeed:
    """Say that the node has another boot ID now."""

    boot_id: str


@dataclass(frozen=True)
class Fail:
    """Say why there is nothing to power-cycle."""

    reason: str
    message: str


Step = Nothing | Begin | SwitchOffAndOn | Succeed | Fail


def next_step(request: RemediationRequest, node: str, boot_ids: Mapping[str, str]) -> Step:
    """Decide from the request, the node that it is for, and the boot ID that each node has now."""
    if request.is_over:
        return Nothing()
    boot_id = boot_ids.get(node)
    if boot_id is None:
        return Fail("NodeNotFound", f"There is no simulated node {node}.")
    before = request.status.boot_id_before
    if before is None:
        return Begin(boot_id)
    if before != boot_id:
        return Succeed(boot_id)
    return SwitchOffAndOn(timedelta(seconds=request.spec.power_off_seconds))
