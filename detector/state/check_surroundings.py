"""What is around one check, read off the state of the cluster at one moment."""

from datetime import datetime

from detector.state.cluster_state import ClusterState
from health.gate.check_surroundings import NOTHING_AROUND, CheckSurroundings
from health.gate.health_check import InvalidCheckError
from health.model.references import CheckReference
from health.model.verdict import Health


def check_surroundings(
    cluster_state: ClusterState, reference: CheckReference, now: datetime
) -> CheckSurroundings:
    """What is around a check; nothing for one that is gone or cannot be read."""
    entry = cluster_state.checks.get(reference)
    if entry is None or isinstance(entry.check, InvalidCheckError):
        return NOTHING_AROUND
    check, around = entry.check, cluster_state.surroundings
    targets = cluster_state.targets.of(reference)
    reconfigured = [targets[name] for name in entry.reconfigured if name in targets]
    expired = [one for one in reconfigured if check.verdict(one, now, around).health is Health.EXPIRED]
    return CheckSurroundings.of(check, around, cluster_state.template_kinds, expired)
