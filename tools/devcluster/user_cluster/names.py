"""The names and the label of all that the demo creates in a cluster of the user.

The label selects the simulated Nodes for the check, and everything else for the clean-up.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from devcluster.simulation.nodes import SIMULATED as LABEL
from devcluster.simulation.nodes import SIMULATED_VALUE as LABEL_VALUE
from devcluster.simulation.resources import NODE_HEALTH_CHECKS, REQUESTS, TEMPLATES
from health.kinds.registry import CHECK_KINDS
from objects.group_kind import GroupKind
from runtime.paramedic_status import PARAMEDIC_STATUSES

LABELS = MappingProxyType({LABEL: LABEL_VALUE})
SELECTOR = f"{LABEL}={LABEL_VALUE}"
CLUSTER = "demo"
"""The configured name in workflow ids, before the beginning of kube-system's uid."""
NAMESPACE = "paramedic-demo"
"""The namespace of all namespaced objects, except the Leases of kubelets, and Events about Nodes."""
CHECK = NAMESPACE
CHECK_KIND = CHECK_KINDS[GroupKind(NODE_HEALTH_CHECKS.group, NODE_HEALTH_CHECKS.kind)]
"""The kind of the check."""
PREFIX = f"{NAMESPACE}-"
"""The beginning of the name of each simulated Node."""
NODE_LEASES = "kube-node-lease"
NAMESPACE_OF_EVENTS = "default"
"""The namespace of Events about cluster-scoped objects."""


def is_labelled(metadata: Mapping[str, Any]) -> bool:
    """True if an object with this metadata has the label of the demo."""
    labels = metadata.get("labels")
    return isinstance(labels, Mapping) and labels.get(LABEL) == LABEL_VALUE


KINDS = (NODE_HEALTH_CHECKS, PARAMEDIC_STATUSES, TEMPLATES, REQUESTS)
"""The kinds that the demo needs; the full name of each is that of its CRD."""
