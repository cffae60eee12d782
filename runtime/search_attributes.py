"""Search attributes of incidents, by which people and the dispatch find them in Temporal.

They are set at the start of a workflow, which is free; a later change would cost an event each. They are
registered once per Temporal namespace, by `paramedic setup`.
"""

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.client import Client
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes

from health.references import IncidentReference

CLUSTER = SearchAttributeKey.for_keyword("ParamedicCluster")
CHECK = SearchAttributeKey.for_keyword("ParamedicCheck")
TARGET = SearchAttributeKey.for_keyword("ParamedicTarget")
KEYS = (CLUSTER, CHECK, TARGET)


class SearchAttributeConflict(Exception):
    """A search attribute of ours has another type in the namespace; the server never changes a type."""


def of_incident(incident: IncidentReference) -> TypedSearchAttributes:
    """The search attributes of one incident."""
    return TypedSearchAttributes(
        [
            SearchAttributePair(CLUSTER, incident.cluster),
            SearchAttributePair(CHECK, str(incident.check)),
            SearchAttributePair(TARGET, str(incident.target)),
        ]
    )


async def missing(client: Client, namespace: str) -> tuple[str, ...]:
    """The names of ours that the namespace lacks.

    Raises:
        SearchAttributeConflict: one is there with another type.
        RPCError: Temporal cannot be asked.

    """
    answer = await client.operator_service.list_search_attributes(
        ListSearchAttributesRequest(namespace=namespace)
    )
    keyword = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
    for key in KEYS:
        found = answer.custom_attributes.get(key.name, keyword)
        if found != keyword:
            raise SearchAttributeConflict(f"search attribute {key.name} is no Keyword in {namespace}")
    return tuple(key.name for key in KEYS if key.name not in answer.custom_attributes)


async def register(client: Client, namespace: str) -> tuple[str, ...]:
    """Add what is missing; answers the names that were added.

    Raises:
        SearchAttributeConflict: one is there with another type.
        RPCError: Temporal cannot be asked, or refuses.

    """
    wanted = await missing(client, namespace)
    if wanted:
        keyword = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
        await client.operator_service.add_search_attributes(
            AddSearchAttributesRequest(namespace=namespace, search_attributes=dict.fromkeys(wanted, keyword))
        )
    return wanted
