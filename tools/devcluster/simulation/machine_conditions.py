"""The conditions that ask the owner of a Machine to remediate it, and how one condition is set.

In v1beta2 a condition has a reason and a message; in v1beta1 a False one also has a severity, and an empty
message is omitted. `lastTransitionTime` stays while the status is the same.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from devcluster.simulation.machine_object import MachineCondition
from kube.resource import Object
from objects.timestamps import stamp

HEALTH_CHECK_SUCCEEDED, OWNER_REMEDIATED = "HealthCheckSucceeded", "OwnerRemediated"
MACHINE_DELETING, REMEDIATION_DEFERRED = "MachineDeleting", "RemediationDeferred"

Version = Literal["v1beta2", "v1beta1"]


def deletion(version: Version) -> MachineCondition:
    """The condition before a marked Machine is deleted; in v1beta1 it ends the mark."""
    return MachineCondition(
        type=OWNER_REMEDIATED,
        status="True" if version == "v1beta1" else "False",
        reason=MACHINE_DELETING,
        message="Machine deletion in progress",
    )


def with_condition(
    shown: Sequence[Object], new: MachineCondition, version: Version, now: datetime
) -> list[Object]:
    """The conditions with `new` in place of the one of its type."""
    before = next((condition for condition in shown if condition["type"] == new.type), None)
    is_same = before is not None and before["status"] == new.status
    since = before["lastTransitionTime"] if before is not None and is_same else stamp(now)
    condition: Object = {"type": new.type, "status": new.status, "lastTransitionTime": since}
    condition |= {"reason": new.reason, "message": new.message}
    if version == "v1beta1":
        condition = {field: value for field, value in condition.items() if value}
        condition |= {"severity": "Warning"} if new.status == "False" else {}
    others = without_condition(shown, new.type)
    return [*others, condition]


def without_condition(shown: Sequence[Object], type_: str) -> list[Object]:
    return [condition for condition in shown if condition["type"] != type_]
