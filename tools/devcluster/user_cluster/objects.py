"""All that the demo creates in a cluster of the user: simulated Nodes, a check, an account with few rights.

The detector, the worker and the simulation use the ServiceAccount of `rights.yaml`. RBAC names the Nodes and
the check that it may change, and an admission policy limits the names of what it creates. The rights of the
user create everything else, before the programs start.
"""

from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType

import yaml

from devcluster.demo.fixtures import NodeFixtures
from devcluster.manifests import ROOT
from devcluster.simulation.nodes import LEASE_NAMESPACE, SIMULATED, SIMULATED_VALUE, simulated_node
from devcluster.simulation.resources import DEFINITIONS, NODE_HEALTH_CHECKS, REQUESTS, TEMPLATES
from health.kinds.registry import CHECK_KINDS
from kube.resource import EVENTS, LEASES, NAMESPACES, NODES, Object, Resource
from objects.group_kind import GroupKind
from runtime.paramedic_status import PARAMEDIC_STATUSES

LABELS = MappingProxyType({SIMULATED: SIMULATED_VALUE})
"""The label of every object of the demo, except Leases of kubelets and Events, which have the prefix."""
CLUSTER = "demo"
"""The configured name in workflow ids, before the beginning of kube-system's uid."""
NAMESPACE = CHECK = ACCOUNT = "paramedic-demo"
"""The namespace, the check with its template, and everything else that exists once."""
NAMESPACE_OF_EVENTS = "default"
"""The namespace of Events about cluster-scoped objects."""
CHECK_KIND = CHECK_KINDS[GroupKind(NODE_HEALTH_CHECKS.group, NODE_HEALTH_CHECKS.kind)]
SIMULATED_NODES = tuple(f"{NAMESPACE}-{number}" for number in (1, 2, 3))
"""One of them fails: few for the user's cluster, and enough for a threshold of 51 %."""
FIXTURES = NodeFixtures(
    check=CHECK,
    namespace=NAMESPACE,
    nodes=len(SIMULATED_NODES),
    selector={"matchLabels": dict(LABELS)},
    labels=LABELS,
)
KINDS = (NODE_HEALTH_CHECKS, PARAMEDIC_STATUSES, TEMPLATES, REQUESTS)
"""The kinds that the demo needs; the full name of each is that of its CRD."""
RIGHTS = Path(__file__).parent / "rights.yaml"
_RBAC, _ADMISSION = "rbac.authorization.k8s.io/v1", "admissionregistration.k8s.io/v1"
ACCOUNTS = Resource("v1", "ServiceAccount", "serviceaccounts", namespaced=True)
OF_RIGHTS = {
    resource.kind: resource
    for resource in (
        ACCOUNTS,
        Resource(_RBAC, "ClusterRole", "clusterroles", namespaced=False),
        Resource(_RBAC, "ClusterRoleBinding", "clusterrolebindings", namespaced=False),
        Resource(_RBAC, "Role", "roles", namespaced=True),
        Resource(_RBAC, "RoleBinding", "rolebindings", namespaced=True),
        Resource(_ADMISSION, "ValidatingAdmissionPolicy", "validatingadmissionpolicies", namespaced=False),
        Resource(
            _ADMISSION,
            "ValidatingAdmissionPolicyBinding",
            "validatingadmissionpolicybindings",
            namespaced=False,
        ),
    )
}
"""The kinds of the objects in rights.yaml."""


def definitions() -> list[Object]:
    """The CRDs of the kinds that the demo needs, with its label."""
    wanted = {kind.full_name for kind in KINDS}
    folders = (ROOT / "deploy" / "base" / "crds", ROOT / "tools" / "devcluster" / "crds")
    files = (file for folder in folders for file in sorted(Path(folder).glob("*.yaml")))
    found = (definition for file in files for definition in yaml.safe_load_all(file.read_text()))
    return [_labelled(definition) for definition in found if definition["metadata"]["name"] in wanted]


def objects() -> Iterator[tuple[Resource, str, Object]]:
    """The objects to create after the CRDs and the namespace: kind, namespace and body, in this order."""
    for body in yaml.safe_load_all(RIGHTS.read_text()):
        yield OF_RIGHTS[body["kind"]], body["metadata"].get("namespace", ""), body
    yield TEMPLATES, NAMESPACE, _labelled(FIXTURES.template())
    yield NODE_HEALTH_CHECKS, "", FIXTURES.node_health_check()
    for node in SIMULATED_NODES:
        yield NODES, "", simulated_node(node, is_guest=True)


OWNED: tuple[tuple[Resource, str], ...] = (
    (NODE_HEALTH_CHECKS, ""),
    (NODES, ""),
    (LEASES, LEASE_NAMESPACE),
    (EVENTS, NAMESPACE_OF_EVENTS),
    (DEFINITIONS, ""),
    (NAMESPACES, ""),
    *((resource, "") for resource in OF_RIGHTS.values()),
)
"""Where objects of the demo are, in the order of their removal; those in its namespace go with that."""


def is_owned(resource: Resource, body: Object) -> bool:
    """True if the demo has created the object."""
    metadata = body["metadata"]
    name, labels = str(metadata["name"]), metadata.get("labels", {})
    if resource in (LEASES, EVENTS):
        return name.startswith((f"{NAMESPACE}-", f"{CHECK}."))
    return metadata.get("namespace") == NAMESPACE or bool(labels.get(SIMULATED) == SIMULATED_VALUE)


def namespace() -> Object:
    return {"metadata": {"name": NAMESPACE, "labels": dict(LABELS)}}


def _labelled(body: Object) -> Object:
    metadata = body["metadata"]
    return body | {"metadata": metadata | {"labels": {**metadata.get("labels", {}), **LABELS}}}
