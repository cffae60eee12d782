import json
import stat
from datetime import timedelta
from pathlib import Path

import pytest

from devcluster import manifests
from devcluster.control_plane import ControlPlane
from devcluster.credentials import DETECTOR
from devcluster.go_programs import kubernetes_version
from devcluster.polling import until
from tests.devcluster.kubectl import kubectl

pytestmark = pytest.mark.cluster


async def test_it_is_the_kubernetes_that_its_sources_name(control_plane: ControlPlane) -> None:
    status, answer = await kubectl(control_plane.kubeconfig, "get", "--raw", "/version")
    assert status == 0
    assert json.loads(answer)["gitVersion"] == kubernetes_version()


async def test_a_user_without_a_role_is_refused(control_plane: ControlPlane) -> None:
    for kubeconfig in (control_plane.detector_kubeconfig, control_plane.worker_kubeconfig):
        status, answer = await kubectl(kubeconfig, "get", "secrets", "-A")
        assert status != 0
        assert "is forbidden" in answer


async def test_every_request_is_in_the_audit_log_by_name_of_its_user(control_plane: ControlPlane) -> None:
    await kubectl(control_plane.detector_kubeconfig, "get", "configmap", "audited")
    events = [json.loads(line) for line in control_plane.audit_log.read_text().splitlines()]
    mine = [event for event in events if event.get("objectRef", {}).get("name") == "audited"]
    assert [(event["user"]["username"], event["verb"], event["level"]) for event in mine] == [
        (DETECTOR.name, "get", "Metadata")
    ]


async def test_nobody_else_can_read_the_credentials(control_plane: ControlPlane) -> None:
    for file in (control_plane.kubeconfig, control_plane.kubeconfig.with_name("tokens.csv")):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_what_is_owned_goes_with_its_owner(control_plane: ControlPlane, tmp_path: Path) -> None:
    admin = control_plane.kubeconfig
    await kubectl(admin, "create", "configmap", "owner")
    _, uid = await kubectl(admin, "get", "configmap", "owner", "-o", "jsonpath={.metadata.uid}")
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
    metadata = {"name": "owned", "ownerReferences": [owner]}
    (tmp_path / "owned.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    )
    assert (await kubectl(admin, "create", "-f", str(tmp_path / "owned.json")))[0] == 0
    await kubectl(admin, "delete", "configmap", "owner")

    async def collected() -> bool:
        status, answer = await kubectl(admin, "get", "configmap", "owned")
        return status != 0 and "not found" in answer

    await until(collected, within=timedelta(seconds=60), otherwise="the owned object is still there")


async def test_installing_again_changes_nothing(control_plane: ControlPlane) -> None:
    question = ("get", "crd", "-o", "jsonpath={.items[*].metadata.generation}")
    before = await kubectl(control_plane.kubeconfig, *question)
    await manifests.install(control_plane.kubeconfig)
    assert await kubectl(control_plane.kubeconfig, *question) == before
    assert before[1]
