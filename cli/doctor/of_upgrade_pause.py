"""Findings about the upgrade pause: too many checks for it, or a memory that it cannot read."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from temporalio.client import Client

from cli.doctor.finding import Finding, problem, warning
from cli.doctor.of_checks import STORED_CHECKS, StoredCheck
from cli.upgrade.finding import open_upgrades, with_state
from health.cluster.pause_progress import MOST_CHECKS
from health.kinds.check_kind import CheckKind
from health.kinds.registry import CHECK_KINDS
from kube.connection import ClusterConnection
from kube.discovery import Discovery
from kube.errors import KindUnknown
from kube.listing import Paging, list_all
from runtime.rights import signals_upgrades_here
from runtime.settings import Settings


async def are_checks_paused(settings: Settings, discovery: Discovery) -> bool:
    """True if upgrade pauses are on and a served kind signals upgrades of this cluster."""
    if settings.upgrade_pause == "off":
        return False
    for signal in signals_upgrades_here(settings):
        with suppress(KindUnknown):
            await discovery.resource(signal.api_version, signal.kind)
            return True
    return False


async def bound_findings(
    connection: ClusterConnection, is_in_shadow: Callable[[StoredCheck], bool], most: int = MOST_CHECKS
) -> list[Finding]:
    """A warning if the cluster has more checks that an upgrade pauses than the upgrade pause takes."""
    counts = [await _count(connection, kind, is_in_shadow) for kind in CHECK_KINDS.values()]
    if sum(counts) <= most:
        return []
    what = (
        f"upgrades pause {sum(counts)} checks, and an upgrade pause takes at most {most}: Paramedic does not "
        "annotate the others, and holds them until the upgrade is over"
    )
    advice = "let one check select the machines of several; another remediator does not see this hold"
    return [warning("TooManyPausableChecks", what, advice)]


async def memory_findings(client: Client, clusters: Sequence[str]) -> list[Finding]:
    """The open upgrade pauses of these clusters that cannot read the memory of their previous run.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    summaries = {
        summary.workflow_id: summary for name in clusters for summary in await open_upgrades(client, name)
    }
    states = [(await with_state(client, summary)).state for summary in summaries.values()]
    return [_unreadable(state.unreadable) for state in states if state and state.unreadable]


def _unreadable(why: str) -> Finding:
    what = f"the upgrade pause changes no check, and the checks that it paused stay paused: {why}"
    advice = "run this command; the orders to the pause are then lost"
    return problem(
        "UpgradePauseMemoryUnreadable", what, f"{advice} (docs/upgrades.md#a-memory-that-cannot-be-read)"
    )


async def _count(
    connection: ClusterConnection, kind: CheckKind, is_in_shadow: Callable[[StoredCheck], bool]
) -> int:
    """How many checks of one kind the upgrade pause annotates; none of a kind that is not served."""
    if kind.upgrade_pause is None:
        return 0
    try:
        path = (await connection.discovery.first_served(kind)).path()
        listed = await list_all(connection.transport, path, STORED_CHECKS, (), Paging())
    except KindUnknown:
        return 0
    return sum(not is_in_shadow(record) for record in listed.records)
