"""Finds the installations of Paramedic in a cluster, with their names and namespaces.

The leading detector writes them to its ParamedicStatus and to its Lease. A command compares them with its
options, and refuses a wrong name before it changes anything. Without a name it uses the only installation.
The functions that list raise KubernetesError.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from cli.shared.errors import NotFoundError, UsageError
from kube.client import Client
from kube.errors import Forbidden, KindUnknown
from kube.resource import LEASES, Object, Resource
from objects.clusters import INSTALLATION_LABEL, configured_name, is_cluster_called
from runtime.paramedic_status import PARAMEDIC_STATUSES, ParamedicStatusDocument
from runtime.process_names import LEADER_LEASE
from runtime.settings import CLUSTER_VARIABLE, LEASE_NAMESPACE_VARIABLE, PREFIX

NAMESPACE_VARIABLE = f"{PREFIX}NAMESPACE"


@dataclass(frozen=True, kw_only=True)
class FoundInstallation:
    """The name of an installation, and the object that states it."""

    source: str
    """Kind, namespace and name of the object."""
    namespace: str
    cluster: str
    """The identity of its cluster."""
    lease_namespace: str | None = None
    temporal_namespace: str | None = None

    @property
    def environment(self) -> dict[str, str]:
        """The settings of its processes that it states, by variable."""
        stated = {
            CLUSTER_VARIABLE: configured_name(self.cluster),
            NAMESPACE_VARIABLE: self.namespace,
            LEASE_NAMESPACE_VARIABLE: self.lease_namespace,
        }
        return {name: value for name, value in stated.items() if value}


async def find_installation(client: Client, name: str | None) -> FoundInstallation | None:
    """The installation whose cluster has that name, None for the only one.

    None: there is none, or the user may not list the objects of all namespaces.

    Raises:
        NotFoundError: no installation has that name.
        UsageError: there are several, and no name.

    """
    try:
        found = await installations(client)
    except Forbidden:
        return None
    by_cluster = {installed.cluster: installed for installed in reversed(found)}
    named = [installed for cluster, installed in by_cluster.items() if is_cluster_called(name or "", cluster)]
    if len(named) > 1:
        raise UsageError(f"there are several installations, give --cluster: {', '.join(sorted(by_cluster))}")
    if not named and found and name is not None:
        raise NotFoundError(f"no installation has the cluster {name!r}; there is {', '.join(by_cluster)}")
    return named[0] if named else None


async def installations(client: Client) -> tuple[FoundInstallation, ...]:
    """All installations that a ParamedicStatus or a leader Lease names, in every namespace."""
    leases = await client.list(LEASES, name=LEADER_LEASE)
    return (*await _of_statuses(client), *named_by_leases(leases))


async def refuse_unread(client: Client, namespace: str) -> None:
    """Refuse a Lease namespace in which no installation looks, if a ParamedicStatus names others.

    Raises:
        NotFoundError: installations name others.

    """
    read = {found.lease_namespace for found in await _of_statuses(client) if found.lease_namespace}
    if read and namespace not in read:
        raise NotFoundError(
            f"no installation reads the namespace {namespace}, nothing was changed: "
            f"give --lease-namespace {', '.join(sorted(read))}"
        )


def named_by_statuses(statuses: Iterable[Object]) -> tuple[FoundInstallation, ...]:
    read = ((status, ParamedicStatusDocument.read(status).installation) for status in statuses)
    return tuple(
        _found(
            PARAMEDIC_STATUSES,
            status,
            installed.cluster,
            lease_namespace=installed.lease_namespace,
            temporal_namespace=installed.temporal_namespace,
        )
        for status, installed in read
        if installed.cluster
    )


def named_by_leases(leases: Iterable[Object]) -> tuple[FoundInstallation, ...]:
    labels = ((lease, (lease["metadata"].get("labels") or {}).get(INSTALLATION_LABEL)) for lease in leases)
    return tuple(_found(LEASES, lease, name) for lease, name in labels if name)


def _found(resource: Resource, body: Object, cluster: str, **namespaces: str | None) -> FoundInstallation:
    namespace, name = body["metadata"].get("namespace", ""), body["metadata"]["name"]
    source = f"{resource.kind} {namespace}/{name}"
    return FoundInstallation(source=source, namespace=namespace, cluster=cluster, **namespaces)


async def _of_statuses(client: Client) -> tuple[FoundInstallation, ...]:
    try:
        return named_by_statuses(await client.list(PARAMEDIC_STATUSES))
    except KindUnknown:
        return ()
