"""The search attributes by which people and our processes find incidents in Temporal.

Cluster, check and target are set at the start of a workflow, without an event; a later change costs one. The
attributes of back-off are changed once, at the end of an incident that acted; `BLOCKED` only when an incident
becomes blocked or goes on. `paramedic setup` registers all of them once per Temporal namespace.
"""

from datetime import timedelta
from typing import Any

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.client import Client
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes

from health.model.references import IncidentReference
from objects.short_text import bounded_id
from workflows import messages
from workflows.messages import ATTEMPT, ATTEMPT_ENDED, BLOCKED

CLUSTER = messages.CLUSTER
CHECK = SearchAttributeKey.for_keyword("ParamedicCheck")
TARGET = SearchAttributeKey.for_keyword("ParamedicTarget")
KEYS: tuple[SearchAttributeKey[Any], ...] = (CLUSTER, CHECK, TARGET, ATTEMPT, ATTEMPT_ENDED, BLOCKED)


class SearchAttributeConflict(Exception):
    """A search attribute of ours has another type in the namespace; Temporal never changes a type."""


def of_incident(incident: IncidentReference) -> TypedSearchAttributes:
    return TypedSearchAttributes(
        [
            SearchAttributePair(CLUSTER, incident.cluster),
            SearchAttributePair(CHECK, bounded_id(str(incident.check))),
            SearchAttributePair(TARGET, bounded_id(str(incident.target))),
        ]
    )


def of_cluster(cluster: str) -> TypedSearchAttributes:
    return TypedSearchAttributes([SearchAttributePair(CLUSTER, cluster)])


def quoted(*texts: str) -> str:
    """String literals in a query, with commas between them."""
    return ", ".join("'" + text.replace("\\", "\\\\").replace("'", "''") + "'" for text in texts)


def _wire_type(key: SearchAttributeKey[Any]) -> IndexedValueType.ValueType:
    return IndexedValueType.Value(f"INDEXED_VALUE_TYPE_{key.indexed_value_type.name}")


async def missing(client: Client, namespace: str, within: timedelta | None = None) -> tuple[str, ...]:
    """The names that the namespace lacks; `within` limits the call, None does not.

    Raises:
        SearchAttributeConflict: one exists with another type.
        RPCError: Temporal cannot be asked.

    """
    answer = await client.operator_service.list_search_attributes(
        ListSearchAttributesRequest(namespace=namespace), timeout=within
    )
    for key in KEYS:
        if answer.custom_attributes.get(key.name, _wire_type(key)) != _wire_type(key):
            type_ = key.indexed_value_type.name.title()
            raise SearchAttributeConflict(f"search attribute {key.name} is no {type_} in {namespace}")
    return tuple(key.name for key in KEYS if key.name not in answer.custom_attributes)


async def register(client: Client, namespace: str) -> tuple[str, ...]:
    """Register missing search attributes, and return their names; raises as `missing`."""
    wanted = await missing(client, namespace)
    if wanted:
        types = {key.name: _wire_type(key) for key in KEYS if key.name in wanted}
        await client.operator_service.add_search_attributes(
            AddSearchAttributesRequest(namespace=namespace, search_attributes=types)
        )
    return wanted
