"""Finds the incident that a person names by node, Machine, check and target, or workflow id.

It also completes the names of targets, and of check and target, in a shell. `find_open` and `find_any` raise
RPCError if Temporal cannot be asked.
"""

import asyncio
from collections.abc import Iterable, Sequence

import typer
from temporalio.client import Client

from cli.incidents.visibility import Filter, IncidentSummary, closed_incidents, open_incidents
from cli.shared.connection import choose_environment, temporal
from cli.shared.errors import CommandError, NotFoundError
from cli.shared.known_clusters import unknown_cluster
from health.kinds.registry import CHECK_KINDS
from health.model.references import (
    IncidentReference,
    check_of,
    is_called,
    kind_name,
    kind_names,
    workflow_id_of,
)
from objects.short_text import is_cut

LISTED = "paramedic list shows the open incidents"
"""Advice for other orders without an incident: the target is healthy, or its name is misspelt."""
NEWEST = 100
"""The newest closed incidents of one target that are searched."""
LONGEST_COMPLETION_SECONDS = 3
"""A person waits for a completion no longer than this."""
NAME_HELP = "A node or Machine (NAME, KIND/NAME, NAMESPACE/NAME), CHECK/NAME, or a workflow id."


def is_named(name: str, incident: IncidentReference) -> bool:
    """True if `name` is an id of its workflow, a name of its target, or CHECK/NAME."""
    check, _, target = name.rpartition("/")
    return (
        name in {incident.workflow_id, incident.full_id}
        or is_called(name, incident.target)
        or (target == incident.target.name and is_called(check, incident.check))
    )


def incident_name(text: str) -> str:
    """Parse NAME; refuse text that cannot name an incident."""
    if check_of(text) or is_cut(text) or _is_name(text, longest=4):
        return text
    raise typer.BadParameter(f"{text!r} is not the name of an incident: {NAME_HELP}")


def object_name(text: str) -> str:
    """Parse the name of a check or a target."""
    if _is_name(text, longest=3):
        return text
    raise typer.BadParameter(f"{text!r} must be NAME, KIND/NAME, NAMESPACE/NAME or KIND/NAMESPACE/NAME")


def _is_name(text: str, longest: int) -> bool:
    """True for at most `longest` non-empty parts; as many as that must begin with a kind."""
    parts = text.split("/")
    if not all(part.strip() for part in parts) or len(parts) > longest:
        return False
    checks = [kind for kind in CHECK_KINDS.values() if kind.is_namespaced]
    kinds = (*checks, *(kind.targets for kind in checks))
    return len(parts) < longest or any(
        parts[0].casefold() in kind_names(kind_name(kind.group_kind)) for kind in kinds
    )


def single_incident(name: str, found: Sequence[IncidentSummary], description: str) -> IncidentSummary:
    """The single incident of that name.

    Raises:
        NotFoundError: there is none, or more than one.

    """
    if len(found) == 1:
        return found[0]
    if not found:
        raise NotFoundError(f"no {description} of {name!r}")
    shown = sorted(summary.short_name for summary in found)
    if len(set(shown)) < len(shown):
        shown = sorted(summary.incident.workflow_id for summary in found)
    raise NotFoundError(f"{name!r} is ambiguous, say which: {', '.join(shown)}")


async def find_open(client: Client, name: str, cluster: str | None, advice: str) -> IncidentSummary:
    """The open incident of that name; without one, the error ends with `advice`.

    Raises:
        NotFoundError: there is none, or more than one.

    """
    found = await _open(client, name, cluster)
    if not found:
        unknown = await unknown_cluster(client, cluster)
        raise NotFoundError(f"no open incident of {name!r}; {unknown or advice}")
    return single_incident(name, found, "open incident")


async def find_any(client: Client, name: str, cluster: str | None) -> IncidentSummary:
    """The open incident of that name, else the last one that ended.

    Raises:
        NotFoundError: there is none, or more than one.

    """
    found = await _open(client, name, cluster)
    if not found:
        closed = await closed_incidents(client, _filter(name, cluster), NEWEST)
        named = [summary for summary in closed if is_named(name, summary.incident)]
        # The newest one of each check and target name, over all uids of the target.
        newest = {
            (one.incident.cluster, one.incident.check, one.incident.target.name): one
            for one in sorted(named, key=lambda summary: summary.started)
        }
        found = list(newest.values())
    if not found and (unknown := await unknown_cluster(client, cluster)):
        raise NotFoundError(f"no incident of {name!r}; {unknown}")
    return single_incident(name, found, "incident")


async def _open(client: Client, name: str, cluster: str | None) -> list[IncidentSummary]:
    found = await open_incidents(client, _filter(name, cluster))
    return [summary for summary in found if is_named(name, summary.incident)]


def _filter(name: str, cluster: str | None) -> Filter:
    if check_of(name) or is_cut(name):
        return Filter(workflow_id=workflow_id_of(name), cluster=cluster)
    return Filter(target=name.rpartition("/")[2], cluster=cluster)


def open_incident_names(context: typer.Context, incomplete: str) -> list[str]:
    """The names of open incidents that begin with the typed text."""

    async def all_open() -> list[IncidentReference]:
        async with asyncio.timeout(LONGEST_COMPLETION_SECONDS), temporal(context) as client:
            return [summary.incident for summary in await open_incidents(client, Filter())]

    choose_environment(context, context.find_root().params)  # completion runs no callback
    try:
        return completions(asyncio.run(all_open()), incomplete)
    except (CommandError, TimeoutError):  # an error would break the typed line
        return []


def completions(incidents: Iterable[IncidentReference], incomplete: str) -> list[str]:
    """Names of targets; names of check and target once a slash is typed."""
    names = {
        f"{incident.check.name}/{incident.target.name}" if "/" in incomplete else incident.target.name
        for incident in incidents
    }
    return sorted(name for name in names if name.startswith(incomplete))
