"""Finds the clusters that have workflows in a Temporal namespace, to explain an unknown name.

Temporal knows a cluster only by its workflows, so a cluster without any within the retention is unknown to
it. A command that finds nothing for a name therefore lists the known names.
"""

from difflib import SequenceMatcher

from temporalio.client import Client

from cli.shared.connection import RPC_TIMEOUT
from cli.shared.parameters import is_cluster_called, quoted
from runtime import search_attributes
from runtime.polling import is_polled
from workflows.contracts import worker_queue

MOST_CLUSTERS = 1000
PAGE = 200
"""Workflows per call; each call excludes the clusters that are already found."""
MOST_NAMED = 10


async def known_clusters(client: Client) -> list[str]:
    """The clusters with open or closed workflows in Temporal.

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
    """A sentence if no workflow and no worker belongs to `cluster`; "" if one does, or no name is given.

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
