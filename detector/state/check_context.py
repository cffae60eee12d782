"""The context of one check, read off the state of the cluster at one moment."""

from datetime import datetime

from detector.state.cluster_state import ClusterState
from health.gate.check_context import NO_CONTEXT, CheckContext
from health.gate.health_check import InvalidCheckError
from health.model.references import CheckReference
from health.model.verdict import Health


def check_context(cluster_state: ClusterState, reference: CheckReference, now: datetime) -> CheckContext:
    """The context of a check; nothing for one that is gone or cannot be read."""
    entry = cluster_state.checks.get(reference)
    if entry is None or isinstance(entry.check, InvalidCheckError):
        return NO_CONTEXT
    check, context = entry.check, cluster_state.cluster_context
    targets = cluster_state.targets.of(reference)
    reconfigured = [targets[name] for name in entry.reconfigured if name in targets]
    expired = [one for one in reconfigured if check.verdict(one, now, context).health is Health.EXPIRED]
    return CheckContext.of(check, context, cluster_state.template_kinds, expired)
