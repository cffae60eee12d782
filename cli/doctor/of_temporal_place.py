"""Findings about Temporal in this cluster, on nodes that a check selects.

A failure of these nodes would stop the remediation of them. Only the Service of the frontend is examined, not
the database or the other services of Temporal.

The host is compared with the DNS names of Services, or with their IPs. Another DNS name that resolves to a
Service is not recognised. `temporal.example` may be either: it depends on whether such a Service exists.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from pydantic import ValidationError

from activities.live_objects import LiveObjects
from activities.step_result import StepHeld
from cli.doctor.finding import Finding, note, warning
from health.check.health_check import HealthCheck
from health.kinds.check_kind import CheckKind
from health.model.references import IncidentReference, TargetReference
from kube.connection import ClusterConnection
from kube.errors import KindUnknown, NotFound
from kube.resource import NODES, Object, Resource
from objects.clusters import MANAGEMENT_CLUSTER
from objects.group_kind import GroupKind

SERVICES = Resource("v1", "Service", "services", namespaced=True)
ENDPOINT_SLICES = Resource("discovery.k8s.io/v1", "EndpointSlice", "endpointslices", namespaced=True)
OF_SERVICE = "kubernetes.io/service-name"
_NODE = GroupKind("", NODES.kind)
_GUIDE = "see docs/temporal.md#where-temporal-lives"
_THIS_MACHINE = "localhost"
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")

Selected = Mapping[str, Sequence[str]]
"""The checks that select a node, by its name."""


@dataclass(frozen=True)
class ServiceName:
    """The name of a Service in this cluster."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def ip_of(host: str) -> str | None:
    """The IP address in `host`; None for a name, and for the loopback."""
    try:
        address = ip_address(host)
    except ValueError:
        return None
    return None if address.is_loopback else str(address)


def service_named(host: str, namespace: str) -> ServiceName | None:
    """The Service that a host may name for a pod in `namespace`; None if it names none.

    The name of a pod, as of a StatefulSet, may precede the Service.
    """
    labels = host.lower().removesuffix(".").split(".")
    if labels == [_THIS_MACHINE] or not all(map(_LABEL.fullmatch, labels)):
        return None
    if "svc" in labels[2:]:
        at = labels.index("svc", 2)
        return ServiceName(labels[at - 1], labels[at - 2])
    if len(labels) == 1:
        return ServiceName(namespace, labels[0])
    return ServiceName(labels[1], labels[0]) if len(labels) == 2 else None  # noqa: PLR2004  name.namespace


def service_at(ip: str, services: Iterable[Mapping[str, Any]]) -> ServiceName | None:
    """The Service with this IP, inside or outside the cluster."""
    for service in services:
        if ip in _ips(service):
            metadata = service["metadata"]
            return ServiceName(metadata["namespace"], metadata["name"])
    return None


def _ips(service: Mapping[str, Any]) -> set[str]:
    spec = service.get("spec") or {}
    balancer = (service.get("status") or {}).get("loadBalancer") or {}
    ingress = [entry.get("ip") for entry in balancer.get("ingress") or ()]
    return {
        spec.get("clusterIP"),
        *(spec.get("clusterIPs") or ()),
        *(spec.get("externalIPs") or ()),
        *ingress,
    }


def nodes_behind(slices: Iterable[Mapping[str, Any]]) -> list[str]:
    """The node of each pod in these EndpointSlices; a pod with an endpoint for each IP family counts once."""
    nodes = {
        (endpoint.get("targetRef") or {}).get("uid") or tuple(endpoint.get("addresses") or ()): node
        for endpoint_slice in slices
        for endpoint in endpoint_slice.get("endpoints") or ()
        if (node := endpoint.get("nodeName"))
    }
    return sorted(nodes.values())


def place_findings(service: ServiceName, nodes: Sequence[str], selected: Selected) -> list[Finding]:
    """Findings about Temporal as this Service, with a pod on each of `nodes`."""
    what = f"Temporal is the Service {service} of this cluster"
    endangered = [node for node in nodes if node in selected]
    if not endangered:
        where = "on nodes that no check selects" if nodes else "and no pod of it is known on a node"
        advice = f"make sure that its database runs on no node that a check selects either, {_GUIDE}"
        return [note("TemporalInThisCluster", f"{what}, {where}", advice)]
    named = "; ".join(f"{node} (selected by {', '.join(selected[node])})" for node in sorted(set(endangered)))
    what += f", and {len(endangered)} of its {len(nodes)} pods run on nodes that are remediated: {named}"
    advice = (
        f"while Temporal is away nothing is remediated: move it and its database to other nodes, {_GUIDE}"
    )
    return [warning("TemporalOnRemediatedNodes", what, advice)]


@dataclass(frozen=True)
class TemporalPlace:
    """Finds the nodes that Temporal runs on, if it runs in this cluster."""

    connection: ClusterConnection
    live: LiveObjects
    namespace: str
    """The namespace of our processes, which completes a host of one label."""

    async def findings(self, host: str, checks: Iterable[tuple[CheckKind, HealthCheck]]) -> list[Finding]:
        """Findings about the Temporal at this host, with these checks in the cluster.

        Raises:
            KubernetesError: the cluster cannot be read.

        """
        service = await self._service(host)
        if service is None:
            return []
        of_service = f"{OF_SERVICE}={service.name}"
        client = self.connection.client
        nodes = nodes_behind(await client.list(ENDPOINT_SLICES, service.namespace, of_service))
        selected: defaultdict[str, list[str]] = defaultdict(list)
        for kind, check in checks if nodes else ():
            for node in await self._selected(kind, check, frozenset(nodes)):
                selected[node].append(str(check.reference))
        return place_findings(service, nodes, selected)

    async def _service(self, host: str) -> ServiceName | None:
        if ip := ip_of(host):
            return service_at(ip, await self.connection.client.list(SERVICES))
        name = service_named(host, self.namespace)
        if name is None:
            return None
        try:
            found = await self.connection.client.get(SERVICES, name.name, name.namespace)
        except NotFound:
            return None
        return None if found["spec"].get("type") == "ExternalName" else name

    async def _selected(self, kind: CheckKind, check: HealthCheck, nodes: frozenset[str]) -> set[str]:
        """The nodes among these that the check selects, itself or by their Machines."""
        try:
            context = await self.live.context(check)
        except (ValidationError, StepHeld):
            return set()  # an object that it names is missing; the status of the check reports the hold
        if check.node_cluster(context) != MANAGEMENT_CLUSTER:
            return set()
        found: set[str] = set()
        for reference in await self._targets(kind, check.reference.namespace, nodes):
            incident = IncidentReference(cluster="", check=check.reference, target=reference)
            try:
                target = await self.live.target(incident, context)
            except (NotFound, ValidationError):
                continue
            if check.selects(target):
                found.add(target.node_name)
        return found

    async def _targets(self, kind: CheckKind, namespace: str, nodes: frozenset[str]) -> list[TargetReference]:
        """The targets of a kind of check that are these nodes, or are Machines of them."""
        targets = kind.targets
        if targets.group_kind == _NODE:
            return [TargetReference(kind=targets.kind, name=node, uid="") for node in sorted(nodes)]
        try:
            resource = await self.connection.discovery.find(targets)
            machines = await self.connection.client.list(
                resource, namespace, where=lambda machine: _node_of(machine) in nodes
            )
        except KindUnknown:
            return []  # another finding reports it
        return [
            TargetReference(
                kind=targets.kind, group=targets.group, namespace=namespace, name=_name(machine), uid=""
            )
            for machine in machines
        ]


def _node_of(machine: Object) -> str:
    name: str = ((machine.get("status") or {}).get("nodeRef") or {}).get("name", "")
    return name


def _name(listed: Object) -> str:
    return str(listed["metadata"]["name"])
