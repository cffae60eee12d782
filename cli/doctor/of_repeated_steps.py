"""A finding for targets whose first step is taken again and again, and no other one."""

from collections.abc import Sequence
from datetime import datetime

from temporalio.client import Client

from cli.doctor.finding import Finding, warning
from cli.incidents.state_queries import StateQueries
from cli.incidents.summary import IncidentSummary
from cli.incidents.visibility import remediated_since
from health.model.ended_remediation import IN_A_ROW

MOST_LISTED = 200
"""The latest incidents that are read."""
NAMED = 3
OF_REPETITION = (
    "let the monitor report a problem until it knows better, or set paramedic.dev/relapse on the check, so "
    "that the next failure goes on with the next step; see docs/policy.md#relapse"
)


async def repetition_findings(client: Client, clusters: Sequence[str], now: datetime) -> list[Finding]:
    """A warning if remediations of the last hour took the first step alone, several times in a row.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    listed = await remediated_since(client, clusters, now - IN_A_ROW, MOST_LISTED)
    return findings_of(await StateQueries(client).all(latest_of(listed)))


def latest_of(listed: Sequence[IncidentSummary]) -> list[IncidentSummary]:
    """The first incident in the list of each check and name; some remediators give a Node another uid."""
    return [*{(one.incident.check, str(one.incident.target)): one for one in reversed(listed)}.values()]


def findings_of(latest: Sequence[IncidentSummary]) -> list[Finding]:
    """The finding about the latest ended incident of each target and check."""
    found = [summary for summary in latest if summary.repetition]
    if not found:
        return []
    named = [f"{one.incident.target} ({one.incident.check}): {one.repetition}" for one in found[:NAMED]]
    more = f"; and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return [warning("StepRepeated", f"{'; '.join(named)}{more}", OF_REPETITION)]
