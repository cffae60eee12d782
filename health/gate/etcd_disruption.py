"""EtcdDisruption: whether etcd of an OpenShift cluster can spare a control-plane node (NHC 2.4/1).

There must be exactly one PodDisruptionBudget for etcd. If it allows a disruption, the node can go. Otherwise
the node can go only if it is the disrupted one itself: then its guard Pod is not ready.
"""

from collections.abc import Sequence

from pydantic import Field

from health.check.selector import LabelSelector
from objects.frozen import FrozenObject

NAMESPACE = "openshift-etcd"
QUORUM = "preventing control plane / etcd quorum loss"


class _BudgetSpec(FrozenObject):
    selector: LabelSelector = LabelSelector()


class _BudgetStatus(FrozenObject):
    disruptions_allowed: int = 0


class DisruptionBudget(FrozenObject):
    """The fields of a PodDisruptionBudget that we read."""

    spec: _BudgetSpec = _BudgetSpec()
    status: _BudgetStatus = _BudgetStatus()


class _PodMetadata(FrozenObject):
    labels: dict[str, str] = Field(default_factory=dict)


class _PodSpec(FrozenObject):
    node_name: str = ""


class _PodCondition(FrozenObject):
    type: str
    status: str


class _PodStatus(FrozenObject):
    conditions: tuple[_PodCondition, ...] = ()


class GuardPod(FrozenObject):
    """A Pod in the namespace of etcd."""

    metadata: _PodMetadata = _PodMetadata()
    spec: _PodSpec = _PodSpec()
    status: _PodStatus = _PodStatus()

    @property
    def may_be_ready(self) -> bool:
        """True if the Pod is ready or its readiness is unknown."""
        ready = next(
            (condition.status for condition in self.status.conditions if condition.type == "Ready"), "False"
        )
        return ready in ("True", "Unknown")


def objection(node_name: str, budgets: Sequence[DisruptionBudget], pods: Sequence[GuardPod]) -> str:
    if len(budgets) != 1:
        return f"{QUORUM}: {len(budgets)} disruption budgets in {NAMESPACE}, where one is expected"
    budget = budgets[0]
    if budget.status.disruptions_allowed >= 1:
        return ""
    guards = [pod for pod in pods if budget.spec.selector.selects(pod.metadata.labels)]
    if any(pod.spec.node_name == node_name and pod.may_be_ready for pod in guards):
        return f"{QUORUM}: etcd allows no disruption now"
    return ""
