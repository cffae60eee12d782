"""`paramedic setup` on a real Temporal server, and what it says where it may not."""

import uuid
from datetime import timedelta

import pytest
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from cli.setup import create_in_cloud, refusal
from devcluster.temporal import TemporalServer
from tests.support.cluster.command import Command

ALL = (
    "ParamedicCluster, ParamedicCheck, ParamedicTarget, ParamedicAttempt, ParamedicAttemptEnded, "
    "ParamedicBlocked"
)


async def retention(server: TemporalServer, namespace: str) -> timedelta:
    client = await Client.connect(server.address)
    answer = await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=namespace))
    return answer.config.workflow_execution_retention_ttl.ToTimedelta()


async def test_setup_is_safe_to_repeat(paramedic: Command, temporal_server: TemporalServer) -> None:
    name = temporal_server.namespace
    for arguments in ((), ("--create-namespace",), ("--create-namespace", "--retention", "30d")):
        ran = await paramedic("setup", *arguments)
        assert (ran.code, ran.err) == (0, "")
        assert ran.out == f"namespace {name} is set up; added: nothing, all were there\n"


async def test_namespace_is_made_where_it_is_missing_and_its_retention_changes_if_one_is_named(
    paramedic: Command, temporal_server: TemporalServer
) -> None:
    name = f"made-{uuid.uuid4().hex[:8]}"
    there = ("--namespace", name, "setup")
    for arguments in ((), ("--retention", "7d"), ("--best-effort",)):
        ran = await paramedic(*there, *arguments)
        assert (ran.code, ran.out) == (0 if "--best-effort" in arguments else 4, "")
        assert ran.err.endswith(f"has no namespace {name}: `paramedic setup --create-namespace` makes it\n")

    ran = await paramedic(*there, "--create-namespace")
    assert ran.out == f"namespace {name} is set up, new, and keeps closed workflows for 30d; added: {ALL}\n"
    assert await retention(temporal_server, name) == timedelta(days=30)
    assert (await paramedic("--namespace", name, "list")).code == 0

    ran = await paramedic(*there, "--create-namespace", "--retention", "168h")
    assert ran.out == (
        f"namespace {name} is set up, and keeps closed workflows for 7d, where it was 30d; "
        "added: nothing, all were there\n"
    )
    assert (await paramedic(*there, "--create-namespace")).code == 0
    assert await retention(temporal_server, name) == timedelta(days=7)


@pytest.mark.parametrize("time", ["7", "-1d", "1.5d", "soon", ""])
async def test_retention_that_is_no_duration_is_wrong_usage(paramedic: Command, time: str) -> None:
    ran = await paramedic("setup", f"--retention={time}")
    assert (ran.code, ran.out) == (2, "")
    assert f"'{time}' must be a duration such as 30d or 720h" in ran.err


@pytest.mark.parametrize("time", ["1s", "59m59s", "0d", "3661d", "99999d"])
@pytest.mark.parametrize("command", ["setup", "--namespace of-no-time setup --create-namespace"])
async def test_retention_that_no_temporal_takes_is_wrong_usage(
    paramedic: Command, command: str, time: str
) -> None:
    ran = await paramedic(*command.split(), "--retention", time)
    assert (ran.code, ran.out) == (2, "")
    assert f"'{time}' must be from 1h to 3660d" in ran.err


async def test_missing_right_is_reported_with_the_command_for_an_admin_in_temporal_cloud(
    temporal_server: TemporalServer,
) -> None:
    client = await Client.connect(temporal_server.address, namespace="prod.a1b2c")
    refused = RPCError("Request unauthorized.", RPCStatusCode.PERMISSION_DENIED, b"")
    in_cloud = create_in_cloud("prod.a1b2c", timedelta(hours=30))
    assert str(refusal("create", client, refused, in_cloud)) == (
        f"Temporal at {temporal_server.address} does not let us create the namespace prod.a1b2c: "
        "PermissionDenied: Request unauthorized: have its administrator do it; in Temporal Cloud, "
        "`tcld namespace create "
        "--namespace prod.a1b2c --retention-days 2 --search-attribute ParamedicCluster=Keyword "
        "--search-attribute ParamedicCheck=Keyword --search-attribute ParamedicTarget=Keyword "
        "--search-attribute ParamedicAttempt=Int --search-attribute ParamedicAttemptEnded=Datetime "
        "--search-attribute ParamedicBlocked=Keyword`"
    )
