"""An object that a setting names says that the cluster is being upgraded."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest

from kube.errors import AlreadyExists
from kube.resource import Object
from tests.end_to_end.holds import until_held
from tests.end_to_end.other_kind import OtherKind
from tests.end_to_end.world import World

pytestmark = pytest.mark.cluster

DURATION = timedelta(seconds=4)


@pytest.fixture(scope="module")
def settings(other_kind: OtherKind) -> dict[str, str]:
    """An upgrade is what the other kind signals."""
    signal = f"{other_kind.api_version}/{other_kind.requests.kind}/RollingOut=True"
    return {"PARAMEDIC_UPGRADE_SIGNALS": signal}


async def _set_rolling_out(world: World, other: OtherKind, status: str) -> datetime:
    """Let an object of another kind say that it is rolled out, or not, from now on; answers the time."""
    now = datetime.now(UTC).replace(microsecond=0)
    stamp = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    condition = {"type": "RollingOut", "status": status, "lastTransitionTime": stamp}
    body: Object = {
        "apiVersion": other.requests.api_version,
        "kind": other.requests.kind,
        "metadata": {"name": "blue"},
    }
    with suppress(AlreadyExists):
        await world.client.create(other.requests, body, "default")
    patch: Object = {"status": {"conditions": [condition]}}
    await world.client.merge_patch(other.requests, "blue", patch, "default")
    return now


@pytest.mark.rule("rule 38", "rule 37")
async def test_nothing_new_is_done_while_an_object_of_the_setting_signals_an_upgrade(
    world: World, other_kind: OtherKind
) -> None:
    await _set_rolling_out(world, other_kind, "True")
    (node,) = await world.add_nodes(1)
    await world.add_check(duration="4s")
    await world.fail(node)

    await until_held(world, node, "Upgrading: ", "says Reset/default/blue: RollingOut=True")
    assert world.requests.created(node) == 0
    ended = await _set_rolling_out(world, other_kind, "False")

    await world.until_requested(node)
    made = datetime.fromisoformat((await world.request(node))["metadata"]["creationTimestamp"])
    assert made >= ended + DURATION
