"""Writes the status of requests as a remediator does."""

from datetime import UTC, datetime

from objects.timestamps import stamp
from tests.support.story.world import REQUESTS, World


async def report(world: World, request: str, **conditions: str) -> None:
    """Replace the conditions of the request with that name."""
    now = stamp(datetime.now(UTC))
    listed = [
        {"type": type_, "status": status, "lastTransitionTime": now, "reason": "Test", "message": ""}
        for type_, status in conditions.items()
    ]
    patch = {"status": {"conditions": listed}}
    await world.client.merge_patch(REQUESTS, request, patch, "default", subresource="status")
