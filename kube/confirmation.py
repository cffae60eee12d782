"""Whether what answers can be believed.

A load balancer without an API server behind it says 404, too. And an API server whose data was restored
from a backup accepts a watch from a resourceVersion that it has not reached yet, and says nothing
(measured): such a watch looks like one of a quiet cluster, and is blind.
"""

from pydantic import ValidationError

from kube.decoding import ListHead
from kube.discovery import Discovery
from kube.errors import Malformed, NotFound, Unreachable
from kube.resource import NODES
from kube.transport import Transport


async def confirm_api_server(transport: Transport) -> None:
    """Return if the server serves what every API server serves.

    Raises KubernetesError: it does not, or it could not be asked.
    """
    try:
        await Discovery(transport).resource(NODES.api_version, NODES.kind)
    except NotFound as error:
        raise Unreachable(f"What answers is no API server: {error.message}", path=error.path) from error


async def went_back(transport: Transport, path: str, resource_version: str) -> bool:
    """Whether the server is at an earlier version than `resource_version`, which it once told us.

    Raises KubernetesError: it could not be asked.
    """
    answer = await transport.request("GET", path, query=[("limit", "1")])
    try:
        now = ListHead.model_validate_json(answer).metadata.resource_version
    except ValidationError as error:
        raise Malformed(f"The answer for {path} is no list.", path=path) from error
    return now.isdecimal() and resource_version.isdecimal() and int(now) < int(resource_version)
