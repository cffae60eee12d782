"""Whether a 404 can be believed.

A load balancer without an API server behind it says 404, too. And an API server that is cut off from etcd
does not know of a CRD that was made since.
"""

from kube.consistent_read import current_version
from kube.errors import NotFound, Unreachable
from kube.resource import NODES
from kube.transport import Transport


async def confirm_api_server(transport: Transport) -> None:
    """Return if the server serves what every API server serves, as etcd holds it now.

    Raises KubernetesError: it does not, or it could not be asked.
    """
    try:
        await current_version(transport, NODES.path())
    except NotFound as error:
        raise Unreachable(f"What answers is no API server: {error.message}", path=error.path) from error
