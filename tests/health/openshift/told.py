"""Renders the Events of a MachineHealthCheck for tests."""

from typing import Any

from health.check.check_snapshot import CheckSnapshot
from health.cluster.global_stop import Stop
from health.model.observation import Hold, HoldReason
from objects.event import Severity
from tests.support.values.held import held
from tests.support.values.machines import expired, waiting
from tests.support.values.openshift import NAMESPACE, NO_CONTROLLER, PAUSED, check, failed, snapshot

NORMAL, WARNING = Severity.NORMAL, Severity.WARNING
FORTY = check(maxUnhealthy="40%")
PAUSED_CHECK = check(PAUSED, maxUnhealthy="40%")
EXCEEDED = (
    "Remediation restricted due to exceeded number of unhealthy machines "
    "(total: 5, unhealthy: 3, maxUnhealthy: 40%)"
)
RESTRICTED = (WARNING, "RemediationRestricted", EXCEEDED)
DETECTED = (
    NORMAL,
    "DetectedUnhealthy",
    f"Machine {NAMESPACE}/workers/machine-1/node-1 has unhealthy node node-1",
)
SKIPPED = (
    NORMAL,
    "SkippedNoController",
    f"Machine {NAMESPACE}/workers/machine-1/node-1 has no controller owner, skipping remediation",
)
INVALID_EVENT = (
    WARNING,
    "InvalidSpec",
    (
        "Remediation is not allowed, the check cannot be read: "
        "spec.maxUnhealthy: must not be negative (found -1)"
    ),
)
STOP = Stop(reason="maintenance", version="1")
STOPPED = held(STOP)
UPGRADING = held(Hold(reason=HoldReason.UPGRADING, message="the cluster is being upgraded"))
EVERYTHING = [waiting("a"), expired("b"), failed("c"), expired("d", hold=NO_CONTROLLER)]


def blocked(*targets: Any, healthy: int = 2) -> CheckSnapshot:
    return snapshot(*targets, of=FORTY, healthy=healthy)
