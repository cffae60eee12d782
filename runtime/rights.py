"""The table of rights: what our processes may do with given settings, and the reason for each right.

Roles, the questions of `paramedic doctor` and docs/rights.md are generated from it; tests compare it with the
requests of our processes. Rights for one kind of check are in the kind's folder.
"""

from collections.abc import Iterator
from functools import partial

from health.cluster.upgrade import UpgradeSignal
from health.gate.etcd_disruption import NAMESPACE as ETCD_NAMESPACE
from health.kinds.registry import CHECK_KINDS
from health.kinds.right import Process, Right, RightsGroup
from health.policy.policy import POLICY
from kube.resource import KUBE_SYSTEM
from runtime.paramedic_status import NAME
from runtime.paramedic_status import PARAMEDIC_STATUSES as STATUSES
from runtime.process_names import LEADER_LEASE
from runtime.settings import Settings

LEASES = "coordination.k8s.io"
WATCH = ("list", "watch")
ETCD = RightsGroup("deploy/components/openshift/worker-etcd.yaml", "on OpenShift", name="etcd")
EVIDENCE = RightsGroup(
    "deploy/components/evidence/rights.yaml",
    "where a check has the annotation paramedic.dev/evidence",
    name="evidence",
)
EVIDENCE_IN_WORKLOAD_CLUSTERS = RightsGroup(
    "deploy/workload-cluster/evidence.yaml",
    "in each workload cluster of a check with that annotation, for the identity in its kubeconfig",
)
SIGNALS = RightsGroup(
    "a ClusterRole as in docs/holds.md#other-signals-of-an-upgrade",
    "for each kind that PARAMEDIC_UPGRADE_SIGNALS names, granted by you",
)
REMEDIATOR = RightsGroup(
    "a ClusterRole of the remediator, labelled rbac.ext-remediation/aggregate-to-ext-remediation",
    "for each remediator, granted by its own installation",
)
IN_WORKLOAD_CLUSTERS = RightsGroup(
    "deploy/workload-cluster/nodes.yaml", "in each workload cluster, for the identity in its kubeconfig"
)


def needs(settings: Settings) -> Iterator[Right]:
    """All rights that our processes need with these settings, independent of the cluster."""
    yield from _of_detector(settings)
    yield from _of_worker(settings)
    for kind in settings.check_kinds:
        yield from kind.rights
        if settings.confirmations == "remove":
            yield from kind.confirmation_rights
        if settings.webhook_address:
            yield from kind.webhook_rights


def _of_detector(settings: Settings) -> Iterator[Right]:
    right = partial(Right, process=Process.DETECTOR)
    shared, ours = settings.lease_namespace, settings.namespace
    yield right(group="", resource="nodes", verbs=WATCH, why="Nodes are the targets of checks")
    its_uid = "its uid distinguishes this cluster from others with the same name"
    yield right(group="", resource="namespaces", verbs=("get",), name=KUBE_SYSTEM, why=its_uid)
    yield right(
        group="",
        resource="namespaces",
        verbs=WATCH,
        name=shared,
        why="the global stop is an annotation on it",
    )
    upgrades = "an upgrade of the cluster holds every check"
    yield right(group="config.openshift.io", resource="clusterversions", verbs=WATCH, why=upgrades)
    yield right(
        group=LEASES,
        resource="leases",
        verbs=WATCH,
        namespace=shared,
        why="a target whose Lease has another holder is left alone",
    )
    yield right(
        group="",
        resource="configmaps",
        verbs=WATCH,
        namespace=ours,
        name=POLICY,
        why="the policy may change at run time",
    )
    yield right(
        group="",
        resource="events",
        verbs=("create",),
        namespace=ours,
        why="Events report edits of the policy, and problems of the processes",
    )
    made = "the detector makes the ParamedicStatus where it is missing"
    yield right(group=STATUSES.group, resource=STATUSES.plural, verbs=("create",), namespace=ours, why=made)
    before_write = "the detector reads the ParamedicStatus before it changes it"
    yield right(
        group=STATUSES.group,
        resource=STATUSES.plural,
        verbs=("get",),
        namespace=ours,
        name=NAME,
        why=before_write,
    )
    yield right(
        group=STATUSES.group,
        resource=f"{STATUSES.plural}/status",
        verbs=("patch",),
        namespace=ours,
        name=NAME,
        why="it has the conditions of the processes",
    )
    made = "the first detector makes the Lease of the leader"
    yield right(group=LEASES, resource="leases", verbs=("create",), namespace=ours, why=made)
    leading = "the leader renews its Lease, and releases it when it ends or stands back"
    verbs = ("get", "patch")
    yield right(group=LEASES, resource="leases", verbs=verbs, namespace=ours, name=LEADER_LEASE, why=leading)


def _of_worker(settings: Settings) -> Iterator[Right]:
    right = partial(Right, process=Process.WORKER)
    shared, ours = settings.lease_namespace, settings.namespace
    yield right(group="", resource="nodes", verbs=("get",), why="a Node is read again before an act")
    its_uid = "its uid distinguishes this cluster from others with the same name"
    yield right(group="", resource="namespaces", verbs=("get",), name=KUBE_SYSTEM, why=its_uid)
    yield right(
        group="",
        resource="namespaces",
        verbs=("get",),
        name=shared,
        why="each act checks for the global stop",
    )
    shadow = "each act checks for shadow mode and the limits of the policy"
    yield right(group="", resource="configmaps", verbs=("get",), namespace=ours, name=POLICY, why=shadow)
    holding = "the worker acquires, renews and releases the Lease of each target that it remediates"
    yield right(
        group=LEASES,
        resource="leases",
        verbs=("create", "get", "patch", "delete"),
        namespace=shared,
        why=holding,
    )
    renewed = "its renewals show whether a detector leads, its annotations the known workload clusters"
    yield right(
        group=LEASES, resource="leases", verbs=("get",), namespace=ours, name=LEADER_LEASE, why=renewed
    )
    no_leader = "the worker reports that no detector leads"
    yield right(
        group=STATUSES.group,
        resource=STATUSES.plural,
        verbs=("get",),
        namespace=ours,
        name=NAME,
        why=no_leader,
    )
    yield right(
        group=STATUSES.group,
        resource=f"{STATUSES.plural}/status",
        verbs=("patch",),
        namespace=ours,
        name=NAME,
        why=no_leader,
    )
    yield right(group="", resource="events", verbs=("create",), namespace=ours, why=no_leader)


def needs_for_signal(group: str, plural: str) -> Iterator[Right]:
    """The rights to watch a kind whose conditions signal an upgrade."""
    why = "its condition holds every check"
    yield Right(process=Process.DETECTOR, group=group, resource=plural, verbs=WATCH, part=SIGNALS, why=why)


def needs_for_upgrade_pause() -> Iterator[Right]:
    """The rights to pause checks for upgrades, if upgrades are signalled and no setting turns it off."""
    for kind in CHECK_KINDS.values():
        yield from kind.upgrade_pause_rights


def signals_upgrades_here(settings: Settings) -> tuple[UpgradeSignal, ...]:
    """The signals of upgrades of the cluster in which the checks are."""
    of_others = {signal for kind in CHECK_KINDS.values() for signal in kind.upgrade_signals}
    return tuple(signal for signal in settings.upgrade_signals if signal not in of_others)


def needs_for_etcd() -> Iterator[Right]:
    """Additional rights of the worker on OpenShift, whatever kinds are handled."""
    right = partial(Right, process=Process.WORKER)
    why = "a control-plane node is held until etcd's disruption budget allows its loss"
    yield right(
        group="policy",
        resource="poddisruptionbudgets",
        verbs=("list",),
        namespace=ETCD_NAMESPACE,
        part=ETCD,
        why=why,
    )
    yield right(group="", resource="pods", verbs=("list",), namespace=ETCD_NAMESPACE, part=ETCD, why=why)


def needs_for_evidence(settings: Settings) -> Iterator[Right]:
    """The rights to save evidence in this cluster, as ConfigMaps."""
    yield from _read_for_evidence(EVIDENCE)
    why = "evidence is saved, and later deleted, in the namespace of the processes"
    verbs = ("create", "list", "delete")
    yield Right(
        process=Process.WORKER,
        group="",
        resource="configmaps",
        verbs=verbs,
        namespace=settings.namespace,
        part=EVIDENCE,
        why=why,
    )


def _read_for_evidence(part: RightsGroup) -> Iterator[Right]:
    right = partial(Right, process=Process.WORKER)
    yield right(
        group="",
        resource="pods",
        verbs=("list",),
        part=part,
        why="the Pods on a Node are part of the evidence",
    )
    evidence = "Events about a Node or Machine are part of the evidence"
    yield right(group="", resource="events", verbs=("list",), part=part, why=evidence)


def needs_for_requests(group: str, templates: str, requests: str) -> Iterator[Right]:
    """The rights on the templates and requests of one remediator, by their plurals."""
    detector, worker, part = Process.DETECTOR, Process.WORKER, REMEDIATOR
    watched = "the detector sees the end of requests, and finds requests without an incident"
    yield Right(process=detector, group=group, resource=requests, verbs=WATCH, part=part, why=watched)
    named = "a check with an unusable template is held"
    yield Right(process=detector, group=group, resource=templates, verbs=("get",), part=part, why=named)
    made = "the worker makes and annotates requests, and deletes them when the target is healthy"
    yield Right(
        process=worker,
        group=group,
        resource=requests,
        verbs=("get", "create", "patch", "delete"),
        part=part,
        why=made,
    )
    yield Right(
        process=worker,
        group=group,
        resource=templates,
        verbs=("get",),
        part=part,
        why="a request is made from its template",
    )


def wishes_for_requests(group: str, templates: str) -> Iterator[Right]:
    """Optional rights that few remediators grant; used when present."""
    why = "without it the detector reads each template every 15 seconds"
    yield Right(
        process=Process.DETECTOR, group=group, resource=templates, verbs=WATCH, part=REMEDIATOR, why=why
    )


def needs_for_secret(part: RightsGroup, namespace: str, name: str) -> Iterator[Right]:
    """The rights on the Secret with the kubeconfig of one workload cluster."""
    for process in Process:
        why = "the kubeconfig of a workload cluster"
        yield Right(
            process=process,
            group="",
            resource="secrets",
            verbs=("get",),
            namespace=namespace,
            name=name,
            part=part,
            why=why,
        )


def needs_in_workload_clusters() -> Iterator[Right]:
    """The rights in a workload cluster, for the identity in its kubeconfig."""
    part = IN_WORKLOAD_CLUSTERS
    yield Right(
        process=Process.DETECTOR,
        group="",
        resource="nodes",
        verbs=WATCH,
        part=part,
        why="the Nodes of Machines are there",
    )
    yield Right(
        process=Process.WORKER,
        group="",
        resource="nodes",
        verbs=("get",),
        part=part,
        why="a Node is read again before an act",
    )
    for process in Process:
        its_uid = "its uid identifies the workload cluster, also behind another kubeconfig"
        yield Right(
            process=process,
            group="",
            resource="namespaces",
            verbs=("get",),
            name=KUBE_SYSTEM,
            part=part,
            why=its_uid,
        )


def needs_for_evidence_in_workload_clusters() -> Iterator[Right]:
    """Additional rights to save evidence of the Nodes of a workload cluster."""
    yield from _read_for_evidence(EVIDENCE_IN_WORKLOAD_CLUSTERS)
