"""TemporalService: finds out whether the address of Temporal is a Service of this cluster.

Pure. The host is compared with the DNS names of Services, or with their IPs. Another DNS name that resolves
to a Service is not recognised. `temporal.example` may be either: it depends on whether such a Service exists.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

_THIS_MACHINE = "localhost"
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


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
    ingress = [one.get("ip") for one in balancer.get("ingress") or ()]
    return {
        spec.get("clusterIP"),
        *(spec.get("clusterIPs") or ()),
        *(spec.get("externalIPs") or ()),
        *ingress,
    }


def nodes_behind(slices: Iterable[Mapping[str, Any]]) -> list[str]:
    """The nodes of its pods, ready or not, one for each pod even if it has an endpoint for each IP family."""
    nodes = {
        (endpoint.get("targetRef") or {}).get("uid") or tuple(endpoint.get("addresses") or ()): node
        for one in slices
        for endpoint in one.get("endpoints") or ()
        if (node := endpoint.get("nodeName"))
    }
    return sorted(nodes.values())
