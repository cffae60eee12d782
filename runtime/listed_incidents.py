"""ListedIncident: the incident of a workflow that Temporal lists.

Its memo names the incident. A workflow that a person started in the Temporal UI has no memo ("Start Workflow
Like This One" copies input and search attributes only), and a memo may contain anything. Then the id names
the incident, except for a part of the uid: enough to show it and to wake it, but not to judge its target.
Search attributes complete a cut id.
"""

from dataclasses import dataclass

from temporalio.client import WorkflowExecution

from health.kinds.registry import CHECK_KINDS
from health.model.references import IncidentReference, TargetReference, check_of
from objects.bounded_id import is_cut
from runtime.payload_codec import UnreadablePayload
from runtime.search_attributes import CHECK, CLUSTER, TARGET
from workflows.messages import INCIDENT_MEMO

UNREADABLE = (KeyError, ValueError, TypeError, RuntimeError)
"""Errors that payload converters raise for malformed payloads."""


@dataclass(frozen=True)
class ListedIncident:
    """One workflow of the type Remediation, with its incident."""

    workflow_id: str
    incident: IncidentReference | None
    """The incident in its memo; None without a memo, or if the memo does not fit the id."""
    named: IncidentReference | None = None
    """The incident by its id or search attributes, with a part of the uid; None for a foreign id."""
    unreadable: str = ""
    """Why its memo cannot be read; "" if it can."""

    @property
    def as_named(self) -> IncidentReference | None:
        """The incident by the memo, else as it is named."""
        return self.incident or self.named


async def listed_incident(execution: WorkflowExecution) -> ListedIncident:
    try:
        incident = await execution.memo_value(INCIDENT_MEMO, None, type_hint=IncidentReference)
    except UnreadablePayload as error:
        return ListedIncident(execution.id, None, _named(execution), str(error))
    except UNREADABLE:
        incident = None
    if incident is not None and incident.workflow_id == execution.id:
        return ListedIncident(execution.id, incident)
    return ListedIncident(execution.id, None, _named(execution))


def _named(execution: WorkflowExecution) -> IncidentReference | None:
    if not is_cut(execution.id):
        return incident_of(execution.id)
    attributes, uid = execution.typed_search_attributes, execution.id.rpartition("/")[2]
    cluster, check, target = (attributes.get(key, "") for key in (CLUSTER, CHECK, TARGET))
    named = incident_of(f"remediation/{cluster}/{check}/{target.rpartition('/')[2]}/{uid}")
    return named if named is not None and named.workflow_id == execution.id else None


def incident_of(full_id: str) -> IncidentReference | None:
    """The incident by its full id, with a part of the uid; None for a foreign id."""
    if not full_id.isprintable():  # it could control a terminal, and is not ours
        return None
    check = check_of(full_id)
    kind = CHECK_KINDS.get(check.group_kind) if check else None
    if check is None or kind is None:
        return None
    _, cluster, *_, name, uid = full_id.split("/")
    of = kind.targets
    target = TargetReference(kind=of.kind, group=of.group, namespace=check.namespace, name=name, uid=uid)
    incident = IncidentReference(cluster=cluster, check=check, target=target)
    return incident if incident.full_id == full_id else None  # an id with a suffix is not ours
