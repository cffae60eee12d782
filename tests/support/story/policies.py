"""The policy under which the processes of a test run."""

from contextlib import suppress

from devcluster.control_plane import ControlPlane
from health.policy.policy import KEY, POLICY
from kube.client import Client
from kube.errors import AlreadyExists, NotFound
from kube.resource import CONFIG_MAPS
from kube.transport import Transport
from runtime.process_names import NAMESPACE

NO_BACK_OFF = "backOffLimit: 0s"
"""Nodes of a test fail again at once; back-off has its own tests."""


async def put_policy(control_plane: ControlPlane, text: str) -> None:
    """Write the policy; an empty `text` deletes it."""
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        await write_policy(Client(transport), text)


async def write_policy(client: Client, text: str) -> None:
    """Write the policy; an empty `text` deletes it."""
    if not text:
        with suppress(NotFound):
            await client.delete(CONFIG_MAPS, POLICY, NAMESPACE)
        return
    body = {"metadata": {"name": POLICY}, "data": {KEY: text}}
    try:
        await client.create(CONFIG_MAPS, body, NAMESPACE)
    except AlreadyExists:
        await client.merge_patch(CONFIG_MAPS, POLICY, body, NAMESPACE)
