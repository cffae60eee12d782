"""Conditions of Machine checks that show a held, unconfirmed change of their Nodes (rule 50)."""

from health.kinds.check_kind import FailingCondition
from health.kinds.machines.restriction import REMEDIATION_ALLOWED
from health.model.observation import HoldReason

_ADVICE = "restore what it names, or confirm with the annotation that the message names"
NOT_BELIEVED = tuple(
    FailingCondition(REMEDIATION_ALLOWED, "False", reason.value, words, reason.value, _ADVICE)
    for reason, words in (
        (HoldReason.WORKLOAD_CLUSTER_CHANGED, "is held until a person confirms its workload cluster"),
        (HoldReason.NODES_VANISHED, "is held until its Nodes are back, or a person confirms their loss"),
    )
)
