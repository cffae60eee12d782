"""KnownClusters: the clusters of which a Temporal namespace has workflows, and a name that is none of theirs.

Temporal knows a cluster by its workflows alone, so it does not know one that had no incident within the
retention. A command that found nothing under a name therefore says which names there are.
"""

from datetime import timedelta
from difflib import SequenceMatcher

from temporalio.client import Client

from cli.parameters import is_cluster_called, quoted
from runtime import search_attributes
from runtime.polling import is_polled
from workflows.contracts import worker_queue

RPC_TIMEOUT = timedelta(seconds=10)
MOST_CLUSTERS = 1000
PAGE = 200
"""Workflows that one call lists: each call leaves out the clusters that are known by then."""
MOST_NAMED = 10


async def known_clusters(client: Client) -> list[str]:
    """The clusters of which Temporal still has a workflow, open or not.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    known: set[str] = set()
    while len(known) < MOST_CLUSTERS:
        listed = client.list_workflows(_others(known), limit=PAGE, page_size=PAGE, rpc_timeout=RPC_TIMEOUT)
        found = {one.typed_search_attributes.get(search_attributes.CLUSTER) async for one in listed}
        if not found - known - {None, ""}:
            break
        known |= {cluster for cluster in found if cluster}
    return sorted(known)


async def unknown_cluster(client: Client, cluster: str) -> str:
    """A sentence where neither a workflow nor a worker has that name; "": one has, or no name is given.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    if not cluster:
        return ""
    known = await known_clusters(client)
    if any(is_cluster_called(cluster, one) for one in known):
        return ""
    if await is_polled(client, worker_queue(cluster)):
        return ""
    known.sort(key=lambda one: SequenceMatcher(None, cluster, one).ratio(), reverse=True)
    named = ", ".join(known[:MOST_NAMED]) or "none"
    more = f" and {len(known) - MOST_NAMED} more" if len(known) > MOST_NAMED else ""
    return (
        f"the Temporal namespace {client.namespace} has no workflow of a cluster called {cluster!r}; "
        f"it has workflows of {named}{more}"
    )


def _others(known: set[str]) -> str:
    name = search_attributes.CLUSTER.name
    others = f" AND {name} NOT IN ({', '.join(map(quoted, sorted(known)))})" if known else ""
    return f"{name} IS NOT NULL{others}"
