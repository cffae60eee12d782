"""Notifying: the workflow that delivers one notification of an incident, as its companion."""

from temporalio.common import SearchAttributePair, TypedSearchAttributes

from health.model.references import IncidentReference
from health.runbook.notifying import Due
from workflows.kit.companions import Companion
from workflows.messages import CLUSTER
from workflows.notification_contracts import NOTIFICATION, NotificationInput, notification_workflow_id


def delivery_of(due: Due, incident: IncidentReference) -> Companion:
    """The workflow of a notification that is due."""
    cluster = incident.cluster
    request = NotificationInput(cluster=cluster, receiver=due.receiver, notification=due.notification)
    return Companion(
        workflow=NOTIFICATION,
        argument=request,
        workflow_id=notification_workflow_id(cluster, due.receiver, due.notification),
        summary=request.summary,
        search_attributes=TypedSearchAttributes([SearchAttributePair(CLUSTER, cluster)]),
    )
