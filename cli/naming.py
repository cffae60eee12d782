"""Naming: which incident a person means by a node or Machine, by check and target, or a workflow id."""

from collections.abc import Sequence

from temporalio.client import Client

from cli.failing import NotFoundError
from cli.incident_list import Filter, closed_incidents, open_incidents
from cli.incident_sight import IncidentSight
from cli.name_filter import forms
from health.references import IncidentReference

NEWEST = 100
"""Closed incidents of one target that are looked through."""
PREFIX = "remediation/"
NAME_HELP = "A node or Machine (NAME, KIND/NAME, NAMESPACE/NAME), CHECK/NAME, or a workflow id."


def names(incident: IncidentReference) -> frozenset[str]:
    """Every name of an incident."""
    check, target = incident.check, incident.target
    return frozenset(
        {
            incident.workflow_id,
            *forms(target),
            *(f"{form}/{target.name}" for form in forms(check)),
        }
    )


def only_one(name: str, found: Sequence[IncidentSight], what: str) -> IncidentSight:
    """The one that is meant.

    Raises:
        NotFoundError: there is none, or more than one.

    """
    if len(found) == 1:
        return found[0]
    if not found:
        raise NotFoundError(f"no {what} of {name!r}")
    references = [sight.incident for sight in found]
    shown = sorted(map(_short, references))
    if len(set(shown)) < len(shown):
        shown = sorted(reference.workflow_id for reference in references)
    raise NotFoundError(f"{name!r} is ambiguous, say which: {', '.join(shown)}")


async def find_open(client: Client, name: str, cluster: str) -> IncidentSight:
    """The open incident of that name.

    Raises:
        NotFoundError: there is none, or more than one.
        RPCError: Temporal cannot be asked.

    """
    return only_one(name, await _open(client, name, cluster), "open incident")


async def find_any(client: Client, name: str, cluster: str) -> IncidentSight:
    """The open incident of that name, else the last one that ended.

    Raises:
        NotFoundError: there is none, or more than one.
        RPCError: Temporal cannot be asked.

    """
    found = await _open(client, name, cluster)
    if not found:
        closed = await closed_incidents(client, _filter(name, cluster), NEWEST)
        found = _newest_of_each([sight for sight in closed if name in names(sight.incident)])
    return only_one(name, found, "incident")


async def _open(client: Client, name: str, cluster: str) -> list[IncidentSight]:
    found = await open_incidents(client, _filter(name, cluster))
    return [sight for sight in found if name in names(sight.incident)]


def _filter(name: str, cluster: str) -> Filter:
    if name.startswith(PREFIX):
        return Filter(workflow_id=name, cluster=cluster)
    return Filter(target=name.rpartition("/")[2], cluster=cluster)


def _newest_of_each(sights: Sequence[IncidentSight]) -> list[IncidentSight]:
    """The newest incident of each check over each target of a name, whichever individual that was."""
    oldest_first = sorted(sights, key=lambda sight: sight.started)
    newest = {
        (sight.incident.cluster, sight.incident.check, sight.incident.target.name): sight
        for sight in oldest_first
    }
    return list(newest.values())


def _short(incident: IncidentReference) -> str:
    return f"{incident.check.name}/{incident.target.name}"
