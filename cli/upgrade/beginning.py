"""Handles a person's order when no upgrade pause is open.

A pause with a duration starts the workflow in the call that gives the order, for the cluster that the person
names. Temporal knows a cluster by its workflows, or by the pollers of its task queue if the full identity is
given. Other orders need an upgrade and are refused with advice.
"""

from typing import Any

from temporalio.client import Client, WithStartWorkflowOperation
from temporalio.common import WorkflowIDConflictPolicy

from cli.shared.errors import NotFoundError
from cli.shared.known_clusters import known_clusters
from cli.shared.parameters import is_cluster_called, with_kind
from health.kinds.registry import CHECK_KINDS
from health.model.kind_names import kind_name
from runtime import search_attributes
from runtime.polling import is_polled
from workflows.contracts import worker_queue
from workflows.kit.summaries import in_summary
from workflows.upgrade_contracts import (
    UPGRADE_PAUSE,
    PauseOrder,
    UnpauseOrder,
    UpgradePauseInput,
    upgrade_pause_id,
)
from workflows.upgrade_orders import Order


def refuse_without_upgrade(order: Order, cluster: str) -> None:
    """Refuse an order that needs an open upgrade pause.

    Raises:
        NotFoundError: the order needs one.

    """
    none = f"no upgrade pause{f' of cluster {cluster!r}' if cluster else ''} is open"
    if isinstance(order, UnpauseOrder):
        raise NotFoundError(f"{none}, so it has paused no check; to unpause others: {_annotate('-')}")
    if not isinstance(order, PauseOrder):
        raise NotFoundError(f"{none}, so there is nothing to forget: the next upgrade pauses every check")
    if order.for_seconds is None:
        by_hand = _annotate('=""')
        raise NotFoundError(f"{none}: give the pause a time, as with --for 2h, or write {by_hand}")


def _annotate(how: str) -> str:
    """The commands that write the annotation by hand."""
    commands = (
        f"kubectl annotate {kind.resource_name} -n NAMESPACE CHECK {kind.upgrade_pause.paused}{how}"
        for kind in CHECK_KINDS.values()
        if kind.upgrade_pause is not None
    )
    return "; ".join(f"`{command}`" for command in commands)


def as_written(name: str) -> str:
    """The name of a check with its kind in the right case, for a workflow that looks up the name itself."""
    kinds = (kind_name(kind.group_kind) for kind in CHECK_KINDS.values() if kind.upgrade_pause is not None)
    return next((full for kind in kinds if (full := with_kind(name, kind)) != name), name)


async def resolve_cluster(client: Client, cluster: str) -> str:
    """The identity of the cluster with that name, or of the only cluster; a worker polls for it.

    Raises:
        NotFoundError: there is none, or more than one.
        RPCError: Temporal cannot be asked.

    """
    called = [one for one in await known_clusters(client) if is_cluster_called(cluster, one)]
    candidates = called or ([cluster] if cluster else [])
    polled = [candidate for candidate in candidates if await is_polled(client, worker_queue(candidate))]
    if len(polled) == 1:
        return polled[0]
    if polled:
        raise NotFoundError(f"there are several clusters, say which with --cluster: {', '.join(polled)}")
    if called:
        raise NotFoundError(f"no worker of {', '.join(called)} answers; nothing was ordered")
    description = f"called {cluster!r}" if cluster else "known by its workflows"
    raise NotFoundError(
        f"no cluster that a worker works for is {description}: say which with --cluster, by its full name, "
        "as in the ids of its workflows (prod-1a2b3c4d)"
    )


def beginning(cluster: str, order: Order) -> WithStartWorkflowOperation[Any, Any]:
    """Starts the upgrade pause of a cluster unless one is open."""
    return WithStartWorkflowOperation(
        UPGRADE_PAUSE,
        UpgradePauseInput(cluster=cluster),
        id=upgrade_pause_id(cluster),
        task_queue=worker_queue(cluster),
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        search_attributes=search_attributes.of_cluster(cluster),
        static_summary=in_summary(f"begun by order: {order.reason}"),
    )
