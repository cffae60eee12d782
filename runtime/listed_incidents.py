"""ListedIncident: the incident of a workflow that Temporal lists.

Its memo names the incident. A workflow that a person started in the Temporal UI has no memo ("Start Workflow
Like This One" copies input and search attributes only), and a memo may contain anything. Then the id names
the incident, except for a part of the uid: enough to show it and to wake it, but not to judge its target.
"""

from dataclasses import dataclass

from temporalio.client import WorkflowExecution

from health.kinds.registry import CHECK_KINDS
from health.model.references import IncidentReference, TargetReference, check_of
from runtime.payload_codec import UnreadablePayload
from workflows.messages import INCIDENT_MEMO

UNREADABLE = (KeyError, ValueError, TypeError, RuntimeError)
"""Errors that payload converters raise for malformed payloads."""


@dataclass(frozen=True)
class ListedIncident:
    """One workflow of the type Remediation, with its incident."""

    workflow_id: str
    incident: IncidentReference | None
    """The incident in its memo; None without a memo, or if the memo does not fit the id."""
    unreadable: str = ""
    """Why its memo cannot be read; "" if it can."""

    @property
    def as_named(self) -> IncidentReference | None:
        """The incident by the memo, else by the id with a part of the uid; None for a foreign id."""
        return self.incident or _named(self.workflow_id)


async def listed_incident(execution: WorkflowExecution) -> ListedIncident:
    try:
        incident = await execution.memo_value(INCIDENT_MEMO, None, type_hint=IncidentReference)
    except UnreadablePayload as error:
        return ListedIncident(execution.id, None, str(error))
    except UNREADABLE:
        incident = None
    fits = incident is not None and incident.workflow_id == execution.id
    return ListedIncident(execution.id, incident if fits else None)


def _named(workflow_id: str) -> IncidentReference | None:
    if not workflow_id.isprintable():  # it could control a terminal, and is not ours
        return None
    check = check_of(workflow_id)
    kind = CHECK_KINDS.get(check.group_kind) if check else None
    if check is None or kind is None:
        return None
    _, cluster, *_, name, uid = workflow_id.split("/")
    of = kind.targets
    target = TargetReference(kind=of.kind, group=of.group, namespace=check.namespace, name=name, uid=uid)
    incident = IncidentReference(cluster=cluster, check=check, target=target)
    return incident if incident.workflow_id == workflow_id else None  # an id with a suffix is not ours
