"""A person's mark that a Node is healthy is taken off when its incident has cleaned up (NHC 2.6)."""

from contextlib import suppress

from health.model.node import CONFIRMED_HEALTHY
from health.model.references import TargetReference
from kube.client import Client
from kube.errors import Conflict, Invalid, NotFound
from kube.resource import NODES


async def take_off_confirmation(client: Client, node: TargetReference) -> None:
    """Remove the annotation of this very node; one of another uid has no mark of ours."""
    patch = {"metadata": {"uid": node.uid, "annotations": {CONFIRMED_HEALTHY: None}}}
    try:
        await client.merge_patch(NODES, node.name, patch)
    except NotFound:
        return
    except (Conflict, Invalid):  # the answers to another uid, and to more than that: so look
        if await _is_there(client, node):
            raise


async def _is_there(client: Client, node: TargetReference) -> bool:
    with suppress(NotFound):
        found = await client.get(NODES, node.name)
        return bool(found["metadata"]["uid"] == node.uid)
    return False
