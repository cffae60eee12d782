"""ListedIncident: which incident a workflow is that Temporal lists.

Its memo says so. One that a person started in the Temporal UI has none ("Start Workflow Like This One" copies
input and search attributes, and no memo), and a memo may say anything. Then the id says it but for a part of
the uid: enough to name it to people and to wake it, and not enough to judge its target by.
"""

from dataclasses import dataclass

from temporalio.client import WorkflowExecution

from health.kinds.registry import CHECK_KINDS
from health.model.references import IncidentReference, TargetReference, check_of
from runtime.payload_codec import UnreadablePayload
from workflows.messages import INCIDENT_MEMO

UNREADABLE = (KeyError, ValueError, TypeError, RuntimeError)
"""What converters of payloads raise where a payload is not what it should be."""


@dataclass(frozen=True)
class ListedIncident:
    """One workflow of the type Remediation."""

    workflow_id: str
    incident: IncidentReference | None
    """As its memo says; None where it has none, or one that does not fit its id."""
    unreadable: str = ""
    """Why its memo cannot be read; "": it can."""

    @property
    def as_named(self) -> IncidentReference | None:
        """The same, by its id where the memo does not say, with a part of the uid; None: no id of ours."""
        return self.incident or _named(self.workflow_id)


async def listed_incident(execution: WorkflowExecution) -> ListedIncident:
    """Which incident a listed workflow is."""
    try:
        incident = await execution.memo_value(INCIDENT_MEMO, None, type_hint=IncidentReference)
    except UnreadablePayload as error:
        return ListedIncident(execution.id, None, str(error))
    except UNREADABLE:
        incident = None
    fits = incident is not None and incident.workflow_id == execution.id
    return ListedIncident(execution.id, incident if fits else None)


def _named(workflow_id: str) -> IncidentReference | None:
    if not workflow_id.isprintable():  # a terminal would obey it, and no object is called so
        return None
    check = check_of(workflow_id)
    kind = CHECK_KINDS.get(check.group_kind) if check else None
    if check is None or kind is None:
        return None
    _, cluster, *_, name, uid = workflow_id.split("/")
    of = kind.targets
    target = TargetReference(kind=of.kind, group=of.group, namespace=check.namespace, name=name, uid=uid)
    incident = IncidentReference(cluster=cluster, check=check, target=target)
    return incident if incident.workflow_id == workflow_id else None  # an id with a suffix is none of ours
