"""Reads which steps incidents have tried, and which of them people approved.

An incident reports this to its detector with its questions; a command asks the incident. Only incidents of
checks with a step that needs an approval are asked: the cluster shows the next step of all others.
"""

from collections.abc import Iterable

from temporalio.service import RPCError

from cli.incidents.state_queries import StateQueries
from cli.incidents.summary import IncidentSummary
from cli.incidents.visibility import Filter, open_incidents
from cli.shared.terminal import error_sentence
from detector.inspection.inspection import Inspection
from health.model.references import IncidentReference


async def read_progress(inspection: Inspection, incidents: Iterable[IncidentReference]) -> tuple[str, ...]:
    """Note the progress of these incidents in the state; return why that of some is unknown."""
    asked = {one for one in incidents if inspection.answers.observe(one).approval is not None}
    if not asked:
        return ()
    try:
        client = inspection.state.connections.temporal()
        listed = await open_incidents(client, Filter(cluster=inspection.cluster_state.cluster))
        found = await StateQueries(client).all(one for one in listed if one.incident in asked)
    except RPCError as error:
        return (f"approvals of people are unknown: {error_sentence(error)}",)
    for summary in found:
        if summary.state is not None:
            inspection.cluster_state.reported(summary.incident, summary.state.memory.progress)
    return tuple(map(_unknown, (one for one in found if one.state is None)))


def _unknown(summary: IncidentSummary) -> str:
    incident = summary.incident
    return f"approvals for {incident.target} under {incident.check} are unknown: {summary.problem}"
