"""How the owner of Machines says something of one of them: one condition in the list, those of others kept.

In v1beta2 a condition has a reason and a message; in v1beta1 one that is False has a severity, and a message
is left out where there is none. When it began is kept while the status is the same.
"""

from collections.abc import Sequence
from datetime import datetime

from devcluster.simulation.cluster_api_machine import (
    MACHINE_DELETING,
    OWNER_REMEDIATED,
    MachineCondition,
    Version,
)
from kube.resource import Object
from objects.timestamps import stamp


def deletion(version: Version) -> MachineCondition:
    """Build what is said of a Machine right before it is deleted; in v1beta1 that is the end of the mark."""
    return MachineCondition(
        type=OWNER_REMEDIATED,
        status="True" if version == "v1beta1" else "False",
        reason=MACHINE_DELETING,
        message="Machine deletion in progress",
    )


def with_condition(
    shown: Sequence[Object], said: MachineCondition, version: Version, now: datetime
) -> list[Object]:
    """Put a condition into a list, in the place of the one of its type."""
    before = next((condition for condition in shown if condition["type"] == said.type), None)
    is_same = before is not None and before["status"] == said.status
    since = before["lastTransitionTime"] if before is not None and is_same else stamp(now)
    condition: Object = {"type": said.type, "status": said.status, "lastTransitionTime": since}
    condition |= {"reason": said.reason, "message": said.message}
    if version == "v1beta1":
        condition = {field: value for field, value in condition.items() if value}
        condition |= {"severity": "Warning"} if said.status == "False" else {}
    others = without_condition(shown, said.type)
    return [*others, condition]


def without_condition(shown: Sequence[Object], type_: str) -> list[Object]:
    """Take the condition of a type out of a list."""
    return [condition for condition in shown if condition["type"] != type_]
