"""The connection to Temporal: its address, its namespace, the user of orders, and unanswered updates."""

import asyncio
import getpass
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.client import Client, WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from cli.shared.connection import client_of, identity_of, require_incidents
from cli.shared.errors import CommandError, UsageError, wrong_setting
from cli.shared.workflow_update import answered
from devcluster.temporal import TemporalServer
from health.upgrade.decision import PauseRefusal
from runtime.search_attributes import SearchAttributeConflict
from runtime.settings import Settings, SettingsError
from tests.support.api.ports import free_port
from tests.support.cluster.command import Command
from workflows.messages import ORDER_REFUSED

COMMANDS = [("list",), ("show", "node-1"), ("abort", "node-1"), ("resume", "node-1"), ("setup",)]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
async def test_temporal_that_is_not_there_is_one_sentence(command: tuple[str, ...]) -> None:
    address = f"127.0.0.1:{free_port()}"
    ran = await Command({"TEMPORAL_ADDRESS": address})(*command)
    assert (ran.code, ran.out) == (4, "")
    assert ran.err == f"paramedic: Temporal at {address} cannot be reached: Connection refused\n"


async def test_namespace_that_is_not_there(paramedic: Command) -> None:
    ran = await paramedic("--namespace", "nowhere", "list")
    assert ran.code == 4
    assert "Namespace nowhere is not found" in ran.err
    assert len(ran.err.splitlines()) == 1


async def test_namespace_of_others_is_no_all_clear(temporal_server: TemporalServer) -> None:
    in_default = Command({"TEMPORAL_ADDRESS": temporal_server.address})
    for command in (("list", "-o", "json"), ("hold", "node-1")):
        ran = await in_default(*command)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err == (
            f"paramedic: the Temporal namespace default at {temporal_server.address} lacks the search "
            "attributes of Paramedic: if it is the right one, `paramedic setup` prepares it\n"
        )


@pytest.mark.parametrize("option", ["--namespace", "--address", "--profile"])
async def test_option_that_says_nothing_is_refused(option: str) -> None:
    ran = await Command({})(option, "", "list")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"paramedic: invalid value for {option}: must not be empty (see paramedic --help)\n"


async def test_core_says_nothing_on_standard_output(
    temporal_server: TemporalServer, capfd: pytest.CaptureFixture[str]
) -> None:
    async with proxy(temporal_server.address) as (address, cut):
        client = await client_of({"TEMPORAL_ADDRESS": address}, identity=None)
        cut()
        with pytest.raises(RPCError):
            await client.count_workflows("", rpc_timeout=timedelta(seconds=5))
    assert capfd.readouterr().out == ""


@asynccontextmanager
async def proxy(address: str) -> AsyncIterator[tuple[str, Callable[[], None]]]:
    """Its address, and what cuts its connections for good."""
    host, _, port = address.rpartition(":")
    writers: list[asyncio.StreamWriter] = []

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65536):
                writer.write(data)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, here = await asyncio.open_connection(host, int(port))
        writers.extend((writer, here))
        await asyncio.gather(copy(reader, here), copy(there, writer))

    def cut() -> None:
        server.close()
        for writer in writers:
            writer.transport.abort()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}", cut


async def test_options_do_what_the_variables_do(temporal_server: TemporalServer) -> None:
    options = ("--address", temporal_server.address, "--namespace", temporal_server.namespace)
    assert (await Command({"TEMPORAL_ADDRESS": "127.0.0.1:1"})(*options, "list")).code == 0


async def test_profile_of_the_configuration_file(temporal_server: TemporalServer, tmp_path: Path) -> None:
    file = tmp_path / "temporal.toml"
    file.write_text(
        f'[profile.here]\naddress = "{temporal_server.address}"\nnamespace = "{temporal_server.namespace}"\n'
    )
    paramedic = Command({"TEMPORAL_CONFIG_FILE": str(file)})
    assert (await paramedic("--profile", "here", "list")).code == 0
    assert (await paramedic("list", TEMPORAL_PROFILE="here")).code == 0
    ran = await paramedic("--profile", "there", "list")
    assert ran.code == 2
    assert ran.err == f"paramedic: --profile: no profile 'there' in {file}, there are here\n"


async def test_address_that_is_none_is_a_wrong_setting() -> None:
    ran = await Command({})("--address", "not an address", "list")
    assert ran.code == 2
    assert "'not an address'" in ran.err


async def test_commands_and_options_that_do_not_exist_are_wrong_usage(paramedic: Command) -> None:
    assert (await paramedic("lst")).code == 2
    ran = await paramedic("list", "--phase", "sleeping")
    assert ran.code == 2
    assert "--phase" in ran.err
    assert "sleeping" in ran.err


HOST = socket.gethostname()


async def required(monkeypatch: pytest.MonkeyPatch, answer: Exception | tuple[str, ...]) -> None:
    """Require that the namespace exists, where Temporal gives this answer."""

    async def missing(*_: object) -> tuple[str, ...]:
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr("runtime.search_attributes.missing", missing)
    await require_incidents(await Client.connect("a:1", namespace="n", lazy=True))


async def test_namespace_that_lacks_what_is_searched_by_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="the Temporal namespace n at a:1 lacks "):
        await required(monkeypatch, ("ParamedicTarget",))


async def test_namespace_that_lacks_what_an_upgrade_brought_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    await required(monkeypatch, ("ParamedicAttempt",))


async def test_role_that_may_not_ask_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    await required(monkeypatch, RPCError("no", RPCStatusCode.PERMISSION_DENIED, b""))
    with pytest.raises(RPCError):
        await required(monkeypatch, RPCError("away", RPCStatusCode.UNAVAILABLE, b""))


async def test_search_attribute_of_another_type_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CommandError, match="ParamedicCheck is no Keyword in n"):
        await required(monkeypatch, SearchAttributeConflict("ParamedicCheck is no Keyword in n"))


def test_order_is_from_a_person_also_where_no_variable_names_them() -> None:
    assert identity_of({"USER": "ada", "LOGNAME": "bob"}) == f"ada@{HOST}"
    assert identity_of({"LOGNAME": "b\x1b\udcff"}) == f"b ?@{HOST}"
    assert identity_of({}) == f"{getpass.getuser()}@{HOST}"


def test_order_of_a_user_without_a_name_is_from_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getuid", lambda: 1_000_670_000)
    assert identity_of({}) == f"uid-1000670000@{HOST}"


@pytest.mark.parametrize(
    ("given", "name"), [({"cluster": ""}, "--cluster"), ({"cluster": None}, "PARAMEDIC_CLUSTER")]
)
def test_setting_is_refused_by_the_name_that_a_person_used(given: dict[str, object], name: str) -> None:
    with pytest.raises(SettingsError) as refused:
        Settings.from_environment({"PARAMEDIC_CLUSTER": ""})
    assert str(wrong_setting(refused.value, "PARAMEDIC_", given)) == (
        f"{name}: must be 1 to 52 of a-z, 0-9 and -, with no - at either end (found '')"
    )


async def _unanswered() -> str:
    """Waits as the SDK does; a cancelled wait looks as if no worker had answered."""
    try:
        return await asyncio.Future[str]()
    except asyncio.CancelledError as error:
        raise WorkflowUpdateRPCTimeoutOrCancelledError from error


async def test_order_whose_person_gave_up_is_not_taken_for_one_that_no_worker_answers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    order = asyncio.create_task(answered("remediation/1", "abort", _unanswered()))
    await asyncio.sleep(0)
    order.cancel()
    with pytest.raises(asyncio.CancelledError):
        await order
    assert capsys.readouterr().err == "paramedic: interrupted: remediation/1 may have got abort already\n"


@pytest.mark.parametrize("waits", [_unanswered, asyncio.Future[str]])
async def test_order_that_is_accepted_and_never_carried_out_is_not_waited_for_without_limit(
    waits: type[asyncio.Future[str]],
) -> None:
    with pytest.raises(WorkflowUpdateRPCTimeoutOrCancelledError):
        await answered("remediation/1", "abort", waits(), within=timedelta(milliseconds=1))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ApplicationError("no", type=PauseRefusal.NOT_OURS), "upgrade/prod refuses it: no"),
        (ApplicationError("no", "", type=ORDER_REFUSED), "upgrade/prod refuses it: no"),
        (ApplicationError("no", "step", type=ORDER_REFUSED), "upgrade/prod refuses it: --step: no"),
    ],
)
async def test_refusal_is_reported_in_the_words_of_the_workflow_with_the_option_that_is_refused(
    error: ApplicationError, said: str
) -> None:
    async def refused() -> str:
        raise WorkflowUpdateFailedError(error)

    with pytest.raises(CommandError) as told:
        await answered("upgrade/prod", "it", refused())
    assert str(told.value) == said
