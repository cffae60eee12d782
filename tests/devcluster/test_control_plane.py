import json
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from devcluster import manifests
from devcluster.control_plane import ControlPlane
from devcluster.credentials import DETECTOR
from devcluster.go_programs import kubernetes_version
from devcluster.polling import until
from devcluster.simulation.resources import DEFINITIONS
from kube.client import Client
from kube.errors import Forbidden
from kube.resource import CONFIG_MAPS, SECRETS
from kube.transport import Transport

pytestmark = pytest.mark.cluster


@asynccontextmanager
async def client_of(kubeconfig: Path) -> AsyncIterator[Client]:
    async with await Transport.connect(str(kubeconfig)) as transport:
        yield Client(transport, "test")


async def test_it_is_the_kubernetes_that_its_sources_name(control_plane: ControlPlane) -> None:
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        answer = json.loads(await transport.request("GET", "/version"))
    assert answer["gitVersion"] == kubernetes_version()


async def test_a_user_without_a_role_is_refused(control_plane: ControlPlane) -> None:
    for kubeconfig in (control_plane.detector_kubeconfig, control_plane.worker_kubeconfig):
        async with client_of(kubeconfig) as client:
            with pytest.raises(Forbidden):
                await client.list(SECRETS)


async def test_every_request_is_in_the_audit_log_by_name_of_its_user(control_plane: ControlPlane) -> None:
    async with client_of(control_plane.detector_kubeconfig) as client:
        with pytest.raises(Forbidden):
            await client.get(CONFIG_MAPS, "audited", "default")
    events = [json.loads(line) for line in control_plane.audit_log.read_text().splitlines()]
    mine = [event for event in events if event.get("objectRef", {}).get("name") == "audited"]
    assert [(event["user"]["username"], event["verb"], event["level"]) for event in mine] == [
        (DETECTOR.name, "get", "Metadata")
    ]


async def test_other_users_cannot_read_the_credentials(control_plane: ControlPlane) -> None:
    for file in (control_plane.kubeconfig, control_plane.kubeconfig.with_name("tokens.csv")):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_owned_object_is_deleted_with_its_owner(control_plane: ControlPlane) -> None:
    async with client_of(control_plane.kubeconfig) as client:
        made = await client.create(CONFIG_MAPS, {"metadata": {"name": "owner"}}, "default")
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": made["metadata"]["uid"]}
        owned = {"metadata": {"name": "owned", "ownerReferences": [owner]}}
        await client.create(CONFIG_MAPS, owned, "default")
        await client.delete(CONFIG_MAPS, "owner", "default")

        async def collected() -> bool:
            return not await client.list(CONFIG_MAPS, "default", name="owned")

        await until(collected, within=timedelta(seconds=60), otherwise="the owned object is still there")


async def test_installing_again_changes_nothing(control_plane: ControlPlane) -> None:
    async with client_of(control_plane.kubeconfig) as client:
        before = await generations(client)
        await manifests.install(control_plane.kubeconfig)
        assert await generations(client) == before
    assert before


async def generations(client: Client) -> dict[str, int]:
    definitions = await client.list(DEFINITIONS)
    return {
        definition["metadata"]["name"]: definition["metadata"]["generation"] for definition in definitions
    }
