"""`paramedic policy notify` sends a test message to a receiver as a worker does, with its rights."""

import json
from pathlib import Path
from typing import Any

import pytest

from kube.resource import LEASES
from tests.support.api.api_server import Answer, ApiServer, refused, said, text
from tests.support.api.ports import free_port
from tests.support.cluster.command import Command
from tests.support.cluster.forked import Ran

POLICY = "/api/v1/namespaces/ours/configmaps/paramedic-policy"
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
        self.server.forget("GET", POLICY)
        self.server.answer("GET", POLICY, said({"metadata": metadata, "data": policy}))

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
