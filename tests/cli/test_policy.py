"""`paramedic policy check` reads a policy as the detector does; `policy notify` sends a test message."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from kube.resource import LEASES
from tests.support.api.api_server import Answer, ApiServer, refused, said, text
from tests.support.api.ports import free_port
from tests.support.cluster.command import PARAMEDIC, Command
from tests.support.cluster.forked import Ran

POLICY = """\
backOffLimit: 10m
outageGuard: {}
maintenanceWindows:
- {name: nights, schedule: "0 22 * * *", duration: 6h, remediation: Allowed}
notifications:
- {name: oncall, urlFile: url}
- {name: chat, urlFile: chat, events: [Held]}
"""
IN_FORCE = """\
stalenessLimit: 30s (default)
backOffLimit: 10m
outageGuard: {"minimumNodes": 3, "percentage": 60, "window": "5m", "holdLimit": "1h", "labels": {}}
shadow: false (default)
heldNodes: {"cordoned": false, "tainted": [], "atMost": "1h", "signs": [], "without": []} (default)
limits: {"maxInFlightByLabel": {}} (default)
quorumLabels: [] (default)
ordersByAnnotation: true (default)
forcedOrders: false (default)
maxOrdersInFlight: 1 (default)
maintenanceWindows:
- {"name": "nights", "schedule": "0 22 * * *", "duration": "6h", "remediation": "Allowed"}
notifications:
- {"name": "oncall", "urlFile": "url"}
- {"name": "chat", "urlFile": "chat", "events": ["Held"]}
"""


def manifest(text: str, name: str = "paramedic-policy", key: str = "policy.yaml") -> str:
    indented = "".join(f"    {line}\n" for line in text.splitlines())
    head = f"---\n# Source: x\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n"
    return f"{head}data:\n  {key}: |\n{indented}"


@pytest.mark.parametrize("text", [POLICY, manifest(POLICY)], ids=["policy", "ConfigMap"])
async def test_policy_and_its_config_map_are_said_to_be_in_force_with_every_default(
    text: str, tmp_path: Path
) -> None:
    file = tmp_path / "policy"
    file.write_text(text)
    ran = await Command({})("policy", "check", str(file))
    assert (ran.code, ran.out, ran.err) == (0, IN_FORCE, "")


@pytest.mark.parametrize("text", ["", "# nothing yet", "{}"])
async def test_policy_that_names_no_field_is_taken_with_a_note(text: str, tmp_path: Path) -> None:
    file = tmp_path / "policy"
    file.write_text(text)
    ran = await Command({})("policy", "check", str(file))
    assert ran.code == 0
    assert ran.out.count("(default)") == 12
    assert ran.err == (
        f"{file}: names no field; blank text, unlike {{}}, holds every check if "
        "PARAMEDIC_MISSING_POLICY=hold is set\n"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("backoffLimit: 1m", "backoffLimit: there is no such field; did you mean backOffLimit?"),
        (
            "backOffLimit: soon",
            "backOffLimit: must be a duration such as 300s, 5m or 1h30m (found",
        ),
        (
            manifest("shadow: perhaps"),
            "policy.yaml: shadow: must be true or false (found 'perhaps')",
        ),
        (manifest("{}", name="policy"), "metadata.name: must be paramedic-policy (found 'policy')"),
        (manifest("{}", key="policy.yml"), "data.policy.yml: there is no such key, there is policy.yaml"),
        ("kind: ConfigMap", "metadata: is missing"),
        ("kind: ConfigMap\nmetadata:", "metadata: must be a mapping (found null)"),
        (
            manifest("{}").replace("policy.yaml: |\n    {}", "policy.yaml: true"),
            "data.policy.yaml: must be text (found true)",
        ),
        ("a: [", "line 2 is not valid YAML"),
        (manifest("a: ["), "policy.yaml: line 2 is not valid YAML"),
        ("# " + "x" * 300_000, "it is longer than "),
    ],
)
async def test_refused_policy_is_named_by_its_file_and_a_key_only_of_a_config_map(
    text: str, why: str, tmp_path: Path
) -> None:
    file = tmp_path / "policy"
    file.write_text(text)
    ran = await Command({})("policy", "check", str(file))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"paramedic: {file}: {why}")
    assert ran.err.count("\n") == 1


async def test_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    ran = await Command({})("policy", "check", str(tmp_path))
    assert (ran.code, ran.err) == (2, f"paramedic: {tmp_path}: cannot be read: Is a directory\n")


async def test_policy_is_read_from_standard_input() -> None:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        PARAMEDIC, "policy", "check", "-", stdin=pipe, stdout=pipe, stderr=pipe
    )
    out, err = await process.communicate(manifest(POLICY).encode())
    assert (process.returncode, out.decode(), err) == (0, IN_FORCE, b"")


CONFIG_MAP = "/api/v1/namespaces/ours/configmaps/paramedic-policy"
SECRET = "B0-very-secret"
HOOK = f"/hook/{SECRET}"
RECEIVER = {"name": "oncall", "urlFile": "oncall-url"}


class Oncall:
    """A policy with one receiver, which is on the API server, and the files of its Secret."""

    def __init__(self, server: ApiServer, directory: Path) -> None:
        self.server, self.directory = server, directory
        server.answer("GET", LEASES.path(), refused(403, "Forbidden"))
        self.names(RECEIVER)
        self.writes("oncall-url", f"json://127.0.0.1:{server.port}{HOOK}\n")
        self.environment = {
            "KUBECONFIG": str(server.kubeconfig),
            "PARAMEDIC_CLUSTER": "lab",
            "PARAMEDIC_NAMESPACE": "ours",
            "PARAMEDIC_NOTIFICATION_DIRECTORY": str(directory),
            "TEMPORAL_ADDRESS": f"127.0.0.1:{free_port()}",
        }

    def writes(self, file: str, content: str) -> None:
        (self.directory / file).write_text(content)

    def names(self, *receivers: dict[str, Any]) -> None:
        metadata = {"name": "paramedic-policy", "namespace": "ours", "uid": "u", "resourceVersion": "1"}
        metadata["creationTimestamp"] = "2026-01-01T00:00:00Z"
        policy = {"policy.yaml": json.dumps({"notifications": receivers})}
        self.server.forget("GET", CONFIG_MAP)
        self.server.answer("GET", CONFIG_MAP, said({"metadata": metadata, "data": policy}))

    def answers(self, answer: Answer) -> None:
        self.server.answer("POST", HOOK, answer)

    async def __call__(self, *arguments: str, **environment: str) -> Ran:
        return await Command(self.environment)("policy", "notify", *arguments, **environment)

    @property
    def posted(self) -> Any:
        (post,) = [asked for asked in self.server.asked if asked.method == "POST"]
        return post


@pytest.fixture
def oncall(server: ApiServer, tmp_path: Path) -> Oncall:
    (tmp_path / "files").mkdir()
    return Oncall(server, tmp_path / "files")


async def test_receiver_gets_a_message_that_is_a_test_and_the_command_says_so(
    oncall: Oncall,
) -> None:
    oncall.answers(text("ok", 202))
    ran = await oncall("oncall")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "the service of the receiver oncall accepted the test message\n"
    title = "Test message to the receiver oncall: no node is affected, and nothing is to be done"
    assert oncall.posted.body["title"] == title
    assert "cluster lab-" in oncall.posted.body["message"]


async def test_address_comes_from_the_named_directory(oncall: Oncall, tmp_path: Path) -> None:
    oncall.answers(text("ok"))
    where = {"PARAMEDIC_NOTIFICATION_DIRECTORY": str(tmp_path / "nowhere")}
    ran = await oncall("oncall", "--directory", str(oncall.directory), **where)
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.parametrize(
    ("file", "content", "why"),
    [
        ("oncall-url", None, "its service was not reached, or did not accept it"),
        ("oncall-url", f"{SECRET} {SECRET}", "must have one line of ASCII without spaces"),
        ("oncall-url", f"file://{SECRET}", "its address is no URL of a service that apprise knows"),
    ],
)
async def test_failure_is_one_sentence_without_the_address(
    oncall: Oncall, file: str, content: str | None, why: str
) -> None:
    oncall.answers(text(f"no {SECRET}", 410))
    if content is not None:
        oncall.writes(file, content)
    ran = await oncall("oncall")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("paramedic: the receiver oncall did not get the test message: ")
    assert why in ran.err
    assert ran.err.count("\n") == 1
    assert SECRET not in ran.err


async def test_unknown_receiver_is_answered_with_those_of_the_policy(oncall: Oncall) -> None:
    ran = await oncall("onccall")
    assert (ran.code, ran.err) == (3, "paramedic: the policy has no receiver 'onccall'; there is oncall\n")
    oncall.names()
    ran = await oncall("oncall")
    assert (ran.code, ran.err) == (3, "paramedic: the policy has no receiver 'oncall'; it names none\n")
