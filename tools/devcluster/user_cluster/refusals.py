"""Decides why the demo must not begin in a cluster, from what the cluster has.

The demo is for clusters without health checks: other controllers might act on its simulated Nodes, or its
Nodes would count in their thresholds. `--despite-checks` lets it begin all the same. Missing rights and
foreign Nodes with the names of the demo always stop it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from devcluster.assets import OLDEST_KUBERNETES
from devcluster.errors import DevclusterError
from devcluster.user_cluster.names import CHECK_KIND, NAMESPACE, PREFIX, is_labelled
from kube.lease import LeaseRecord, holder_is_valid
from kube.resource import Object

MOST_NAMES = 5
"""Of a long list a person reads the beginning."""
OPTION = "--despite-checks"


class RefusedError(DevclusterError):
    """The demo does not begin in this cluster; the message says why and what to do."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """The objects of a cluster that concern the demo."""

    version: tuple[int, int]
    """Of Kubernetes."""
    checks: Sequence[tuple[str, Object]] = ()
    """Health checks of every kind, with the name of the kind."""
    leader_leases: Sequence[Object] = ()
    """The leader Leases of detectors of Paramedic."""
    operator_leases: Sequence[Object] = ()
    """The leader Leases of NodeHealthCheck operators."""
    nodes: Sequence[Object] = ()
    """The metadata of all Nodes."""
    missing_rights: Sequence[str] = ()
    """Each in words: "create, delete nodes"."""


def refuse(found: Found, context: str, now: datetime, *, despite_checks: bool) -> None:
    """Raise RefusedError if the demo must not begin."""
    if found.version < OLDEST_KUBERNETES:
        version, oldest = (".".join(map(str, one)) for one in (found.version, OLDEST_KUBERNETES))
        raise RefusedError(f"The cluster of context {context} has Kubernetes {version}: it must be {oldest}.")
    refuse_missing_rights(found.missing_rights, context)
    if strangers := _strangers(found.nodes):
        raise RefusedError(
            f"The cluster of context {context} has Nodes with names of the demo that it did not create "
            f"({_some(strangers)}): rename them, because the demo changes Nodes by name."
        )
    if not despite_checks and (reasons := list(_controllers(found, now))):
        raise RefusedError(
            f"The cluster of context {context} has {', '.join(reasons)}: the simulated Nodes could concern "
            f"them. Choose a cluster without health checks, or add {OPTION}."
        )


def refuse_missing_rights(missing: Sequence[str], context: str) -> None:
    """Raise RefusedError if the user of the context may not do what the demo needs."""
    if missing:
        raise RefusedError(
            f"The user of context {context} may not {_some(missing, '; ')}: the demo needs these rights, "
            "and cluster-admin has them."
        )


def _controllers(found: Found, now: datetime) -> Iterable[str]:
    for kind in dict.fromkeys(kind for kind, _ in found.checks):
        names = [
            _name(check) for of, check in found.checks if of == kind and not is_labelled(check["metadata"])
        ]
        if names:
            yield f"{len(names)} {kind}{'s' if len(names) > 1 else ''} ({_some(names)})"
    for lease in found.leader_leases:
        if lease["metadata"].get("namespace") != NAMESPACE:
            yield f"an installation of Paramedic (Lease {_name(lease)})"
    for lease in found.operator_leases:
        if holder_is_valid(LeaseRecord.read(lease), now):
            yield f"a running {CHECK_KIND.operator} (Lease {_name(lease)})"


def _strangers(nodes: Iterable[Object]) -> list[str]:
    return [_name(one) for one in nodes if _name(one).startswith(PREFIX) and not is_labelled(one["metadata"])]


def _name(body: Object) -> str:
    metadata = body["metadata"]
    return "/".join(part for part in (metadata.get("namespace", ""), metadata["name"]) if part)


def _some(names: Sequence[str], between: str = ", ") -> str:
    more = len(names) - MOST_NAMES
    return between.join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
