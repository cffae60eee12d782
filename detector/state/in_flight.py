"""What is under way: targets that have a request of a check, are deleted, or are marked, read off the state.

That is all that is left of a remediation which began, whoever began it, and in whichever process. A request
counts until it is gone; a Machine that is deleted or marked while it does not count as healthy.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from detector.state.check_state import CheckState
from detector.state.cluster_state import ClusterState
from health.gate.health_check import InvalidCheckError
from health.model.references import CheckReference


class Remediated(NamedTuple):
    """A target that a check remediates."""

    check: CheckReference
    target: str


def in_flight(cluster_state: ClusterState) -> dict[Remediated, datetime | None]:
    """The remediations that are under way, with what tells since when; None where nothing does."""
    found: dict[Remediated, datetime | None] = {}
    for check, check_state in cluster_state.checks.items():
        for name, since in _disrupted(cluster_state, check, check_state):
            found[Remediated(check, name)] = since
    for check in cluster_state.requests.owners():
        for name in cluster_state.requests.targets_of(check):
            oldest = cluster_state.requests.of(check, name)[0]
            found[Remediated(check, name)] = oldest.request.metadata.creation_timestamp
    return found


def _disrupted(
    cluster_state: ClusterState, reference: CheckReference, check_state: CheckState
) -> Iterator[tuple[str, datetime | None]]:
    check = check_state.check
    if isinstance(check, InvalidCheckError):
        return
    for name in check_state.unhealthy | check_state.not_healthy:
        target = cluster_state.targets.get(reference, name)
        if target is not None and (target.is_marked or check.under_way(target)):
            yield name, target.metadata.deletion_timestamp
