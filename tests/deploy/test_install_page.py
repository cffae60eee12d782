"""docs/install.md: each command that needs no kubelet is run as it stands there, against a real API server.

Commands that would change the shared servers are server-side dry runs; the rest runs unchanged. Helm only
renders: on the server it would refuse the roles, because Helm did not create them.
"""

from pathlib import Path

import pytest

from devcluster import programs
from devcluster.control_plane import ControlPlane
from devcluster.go_programs import HELM
from devcluster.manifests import ROOT
from tests.deploy.conftest import Refusal
from tests.deploy.containers import containers
from tests.deploy.overlays import built
from tests.deploy.page_commands import NOT_TRIED, blocks_of, reasons, run, tried
from tests.support.api.tls import write_pair

PAGE = (ROOT / "docs" / "install.md").read_text()
ELSEWHERE = ("kind ", "oc ", "temporal ", "paramedic ", "make ", "docker ")
DRY = """#!/bin/sh
case " $* " in
  *" apply "* | *" create "* | *" delete "* | *" install "*) set -- "$@" --dry-run={dry_run} ;;
esac
exec "{program}" "$@"
"""


def blocks() -> list[str]:
    return blocks_of(PAGE)


def test_only_commands_that_cannot_be_tried_are_not_tried() -> None:
    assert all(reason.startswith("needs ") for reason in reasons(PAGE)), reasons(PAGE)
    for line in "".join(blocks()).splitlines():
        assert NOT_TRIED in line or not line.startswith(ELSEWHERE), line


@pytest.mark.cluster
async def test_commands_of_the_page_do_what_they_say(
    control_plane: ControlPlane,
    refusal: Refusal,  # noqa: ARG001  what others install is there
    tmp_path: Path,
) -> None:
    (tmp_path / "deploy").symlink_to(ROOT / "deploy")
    (tmp_path / "api-key.txt").write_text("a-key")
    write_pair(tmp_path)
    for there, named in (("tls.crt", "client.pem"), ("tls.key", "client.key"), ("tls.crt", "ca.pem")):
        (tmp_path / named).write_bytes((tmp_path / there).read_bytes())
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, program, dry_run in (
        ("kubectl", programs.kubectl(), "server"),
        ("helm", HELM.binary(), "client"),
    ):
        (commands / name).write_text(DRY.format(program=program, dry_run=dry_run))
        (commands / name).chmod(0o755)

    script = "set -eux\n" + "".join(tried(block) for block in blocks())
    status, said = await run(script, tmp_path, commands, control_plane.kubeconfig)

    assert status == 0, said
    assert said.count("serverside-applied") > 100
    for of_a_component in (
        "role.rbac.authorization.k8s.io/paramedic-worker-etcd",
        "clusterrole.rbac.authorization.k8s.io/paramedic-worker-cluster-api",
        "validatingwebhookconfiguration.admissionregistration.k8s.io/vnodehealthcheck.kb.io",
    ):
        assert of_a_component in said
    assert "configmap/paramedic-settings" in said
    assert "STATUS: pending-install" in said
    deleted = [line for line in said.splitlines() if " deleted" in line]
    assert 'namespace "paramedic-system" deleted (server dry run)' in deleted
    started = list(containers(built(tmp_path / "my-cluster")))
    assert {one.spec["image"] for one in started} == {"registry.example.com/paramedic:0.1.0"}
    assert {one.environment["PARAMEDIC_CLUSTER"] for one in started} == {"prod"}
    assert not [
        line for line in deleted if "nodehealthchecks" in line or 'namespace "medik8s-leases"' in line
    ]
    definitions = [line.split('"')[1] for line in deleted if line.startswith("customresourcedefinition")]
    assert definitions == ["paramedicstatuses.paramedic.dev"]
