"""Reads one check: its numbers and decisions from the cluster, its ended incidents from Temporal."""

from collections.abc import Sequence
from datetime import timedelta

from temporalio.service import RPCError

from cli.incidents.state_queries import StateQueries
from cli.incidents.visibility import Filter, ended_since
from cli.inspection.check_view import HealthCheckView, OutcomesView
from cli.inspection.connecting import ClusterChoice, reading_cluster
from cli.inspection.progress import read_progress
from cli.shared.errors import NotFoundError
from cli.shared.parameters import is_called
from detector.inspection.decisions import decisions, incidents
from detector.inspection.inspection import Inspection
from health.model.references import CheckReference


async def check_view(choice: ClusterChoice, name: str, since: timedelta) -> HealthCheckView:
    """The check of that name, with the incidents that ended within `since`.

    Raises:
        CommandError: no check or several have the name, or the cluster cannot be read.

    """
    async with reading_cluster(choice) as inspection:
        reference = named_check(inspection, name)
        outcomes = await _outcomes(inspection, reference, since)
        unknown = await read_progress(inspection, incidents(inspection, reference))
        decided = list(decisions(inspection, reference))
        return HealthCheckView.of(inspection, reference, decided, outcomes, unknown_approvals=unknown)


def named_check(inspection: Inspection, name: str) -> CheckReference:
    """The check of that name.

    Raises:
        NotFoundError: no check or several have the name.

    """
    known = sorted(inspection.cluster_state.checks, key=str)
    found = [reference for reference in known if is_called(name, reference)]
    if len(found) == 1:
        return found[0]
    if found:
        raise NotFoundError(f"{name!r} is ambiguous, say which: {_listed(found)}")
    there_is = f"; there is {_listed(known)}" if known else "; the cluster has none"
    raise NotFoundError(f"no check is called {name!r}{there_is}")


def _listed(references: Sequence[CheckReference]) -> str:
    most = 10
    more = f" and {len(references) - most} more" if len(references) > most else ""
    return f"{', '.join(map(str, references[:most]))}{more}"


async def _outcomes(
    inspection: Inspection, reference: CheckReference, since: timedelta
) -> OutcomesView | None:
    """The ended incidents; None if Temporal cannot be asked."""
    begins = inspection.state.now() - since
    wanted = Filter(check=str(reference), cluster=inspection.cluster_state.cluster)
    try:
        client = inspection.state.connections.temporal()
        ended = await StateQueries(client).all(await ended_since(client, wanted, begins))
    except RPCError:
        return None
    return OutcomesView.of(ended, begins)
