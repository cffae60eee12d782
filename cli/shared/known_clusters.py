"""Finds the clusters that have workflows in a Temporal namespace, to explain an unknown name.

Temporal knows a cluster only by its workflows, so a cluster without any within the retention is unknown to
it. A command that finds nothing for a name therefore lists the known names. Both functions raise RPCError if
Temporal cannot be asked.
"""

from difflib import SequenceMatcher

from temporalio.client import Client

from cli.shared.connection import RPC_TIMEOUT
from cli.shared.terminal import listed
from objects.clusters import is_cluster_called
from runtime import search_attributes
from runtime.polling import workers_polling
from workflows.contracts import worker_queue

MOST_CLUSTERS = 1000
PAGE = 200
"""Workflows per call; each call excludes the clusters that are already found."""


async def known_clusters(client: Client, condition: str | None = None) -> list[str]:
    """The clusters with workflows in Temporal that meet the condition, by default open or closed ones."""
    clusters: set[str] = set()
    name = search_attributes.CLUSTER.name
    while len(clusters) < MOST_CLUSTERS:
        others = f"{name} NOT IN ({search_attributes.quoted(*sorted(clusters))})" if clusters else ""
        query = " AND ".join(filter(None, (f"{name} IS NOT NULL", others, condition)))
        listed = client.list_workflows(query, limit=PAGE, page_size=PAGE, rpc_timeout=RPC_TIMEOUT)
        page = {workflow.typed_search_attributes.get(search_attributes.CLUSTER) async for workflow in listed}
        if not page - clusters - {None, ""}:
            break
        clusters |= {cluster for cluster in page if cluster}
    return sorted(clusters)


async def unknown_cluster(client: Client, cluster: str | None) -> str | None:
    """A sentence if no workflow and no worker belongs to `cluster`; None if one does, or without a name."""
    if not cluster:
        return None
    clusters = await known_clusters(client)
    is_known = any(is_cluster_called(cluster, other) for other in clusters)
    if is_known or await workers_polling(client, worker_queue(cluster)):
        return None
    clusters.sort(key=lambda other: SequenceMatcher(None, cluster, other).ratio(), reverse=True)
    return (
        f"the Temporal namespace {client.namespace} has no workflow of a cluster called {cluster!r}; "
        f"it has workflows of {listed(clusters) or 'none'}"
    )
