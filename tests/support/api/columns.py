"""Columns: the cells that `kubectl get` prints of an object, as the API server renders them."""

import json
from typing import Any

from kube.resource import Resource
from kube.transport import Transport

AS_TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"


async def columns(transport: Transport, resource: Resource, name: str, namespace: str) -> dict[str, Any]:
    """The cells by the names of their columns, without those that `--output=wide` adds."""
    answer = await transport.request("GET", resource.path(namespace, name), accept=AS_TABLE)
    table = json.loads(answer)
    (row,) = table["rows"]
    return {
        column["name"]: cell
        for column, cell in zip(table["columnDefinitions"], row["cells"], strict=True)
        if column["priority"] == 0
    }
