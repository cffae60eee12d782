"""The credential plugin of a kubeconfig is run as by kubectl, or an error names it."""

import asyncio
import io
import json
import os
import pty
import stat
from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from devcluster.control_plane import ControlPlane
from kube.client import Client
from kube.errors import NotConfigured, Unreachable
from kube.resource import NODES
from kube.transport import Transport
from tests.support.api.api_server import ApiServer, lines, refused, said
from tests.support.api.eventually import eventually
from tests.support.api.kubeconfigs import Pair
from tests.support.cluster.command import Command

V1, V1BETA1 = "client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"
SECRET = "hunter2"
LONG = timedelta(seconds=30)


def credential(version: str = V1, **status: Any) -> str:
    return json.dumps(
        {"apiVersion": version, "kind": "ExecCredential", "status": status or {"token": SECRET}}
    )


def script(file: Path, text: str) -> Path:
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o700)
    return file


def printing(answer: str) -> str:
    return f"cat <<'END'\n{answer}\nEND"


def use_plugin(
    kubeconfig: Path, command: str | Path, cluster: Mapping[str, object] = {}, **fields: Any
) -> None:
    """Make the user of the kubeconfig one with this plugin."""
    content = json.loads(kubeconfig.read_text())
    plugin = {"apiVersion": V1, "command": str(command), "interactiveMode": "Never", **fields}
    content["users"][0]["user"] = {"exec": plugin}
    content["clusters"][0]["cluster"].update(cluster)
    kubeconfig.write_text(json.dumps(content))


async def refusal(kubeconfig: Path) -> str:
    with pytest.raises(NotConfigured) as refused:
        await Transport.connect(str(kubeconfig))
    assert SECRET not in refused.value.message
    start, end = f"The kubeconfig {kubeconfig} cannot be used: for its user 'test', ", "."
    assert refused.value.message.startswith(start), refused.value.message
    return refused.value.message.removeprefix(start).removesuffix(end)


OTHER_VERSION = f"printed an ExecCredential of the apiVersion '{V1}"
FAILURES = [
    (
        "echo no session >&2; echo log in first. >&2; exit 3",
        "ended with exit code 3, and said: no session log in first",
    ),
    ("exit 127", "ended with exit code 127"),
    ("kill -9 $$", "ended by SIGKILL"),
    ("kill -40 $$", "ended by signal 40"),
    ("head -c 300000 /dev/zero >&2; printf end >&2; exit 1", "ended with exit code 1, and said: … end"),
    (
        "printf '\\033[31mred\\377' >&2; exit 1",
        "ended with exit code 1, and said: [31mred\N{REPLACEMENT CHARACTER}",
    ),
    (
        "printf begin >&2; head -c 300000 /dev/zero | tr '\\0' x >&2; printf end >&2; exit 1",
        f"ended with exit code 1, and said: begin{'x' * 295} … {'x' * 297}end",
    ),
    (": ", "printed no ExecCredential"),
    ("echo why >&2", "printed no ExecCredential, and said: why"),
    (f"echo '{SECRET}'", "printed no valid ExecCredential: it is no JSON at line 1, column 1"),
    (
        f"echo '{{\"{SECRET}'",
        "printed no valid ExecCredential: it is no JSON at line 2, column 0",
    ),
    (f"echo '[\"{SECRET}\"]'", "printed no valid ExecCredential: must be a mapping"),
    (
        printing('{"apiVersion": "v1", "kind": "Config"}'),
        "printed no valid ExecCredential: kind: must be 'ExecCredential'",
    ),
    (
        printing(json.dumps({"apiVersion": V1, "kind": "ExecCredential"})),
        "printed no valid ExecCredential: status: is missing",
    ),
    (
        printing(credential(V1BETA1)),
        f"{OTHER_VERSION}beta1', and the kubeconfig asks for '{V1}'",
    ),
    (
        printing(credential(f"{V1}{'x' * 200}")),
        f"{OTHER_VERSION}{'x' * 68}…', and the kubeconfig asks for '{V1}'",
    ),
    (printing(credential(SECRET)), "printed no ExecCredential of client.authentication.k8s.io"),
    ("echo null", "printed no valid ExecCredential: must be a mapping"),
    (printing(credential(token="")), "printed an ExecCredential without a token and without a certificate"),
    (
        printing(credential(token=" \n")),
        "printed an ExecCredential without a token and without a certificate",
    ),
    (
        printing(credential(token=f"{SECRET}\n{SECRET}")),
        "printed a token that has characters that it cannot have",
    ),
    (
        printing(credential(clientCertificateData=SECRET, clientKeyData=SECRET)),
        "printed a certificate or a key that is no PEM",
    ),
    (
        printing(credential(clientCertificateData=SECRET)),
        "printed an ExecCredential with only one of certificate and key",
    ),
    (
        printing(credential(token=SECRET, expirationTimestamp=SECRET)),
        (
            "printed no valid ExecCredential: status.expirationTimestamp: "
            "must be a time with its zone, such as 2026-01-31T12:00:00Z"
        ),
    ),
    ("cat /dev/zero", "printed over 1048576 bytes"),
]
"""A script, and what the error says of the plugin."""


@pytest.mark.parametrize(("text", "what"), FAILURES)
async def test_plugin_that_fails_is_named_with_what_it_said(
    server: ApiServer, tmp_path: Path, text: str, what: str
) -> None:
    command = script(tmp_path / "plugin", text)
    use_plugin(server.kubeconfig, command)
    assert await refusal(server.kubeconfig) == f"the plugin '{command}' {what}"
    assert not server.asked


def is_running(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] not in "ZX"
    except FileNotFoundError:
        return False


async def test_plugin_that_does_not_end_is_named_with_the_limit(
    server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kube.credential_plugin.LIMIT", timedelta(seconds=1))
    command = script(tmp_path / "plugin", "exec sleep 600")
    use_plugin(server.kubeconfig, command)
    assert await refusal(server.kubeconfig) == f"the plugin '{command}' did not end within 1s"


async def test_plugin_ends_with_its_children_when_the_command_is_interrupted(
    server: ApiServer, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    printed = "head -c 900000 /dev/zero"  # more than a pipe holds: the rest shows that it is read
    text = f"{printed}; sleep 600 & echo $$ $! > {pids}.new; mv {pids}.new {pids}; wait"
    use_plugin(server.kubeconfig, script(tmp_path / "plugin", text))
    connecting = asyncio.create_task(Transport.connect(str(server.kubeconfig)))
    await eventually(pids.exists)
    assert all(map(is_running, pids.read_text().split()))
    connecting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await connecting
    await eventually(lambda: not any(map(is_running, pids.read_text().split())))


async def test_plugin_at_a_terminal_may_ask_the_person(
    server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, its = pty.openpty()
    os.write(ours, b"the-code\n")
    plugin = recording(tmp_path, credential())
    plugin.write_text(
        plugin.read_text().replace("cat > input", "echo 'code?' >&2; read code; echo $code > input")
    )
    use_plugin(server.kubeconfig, plugin, interactiveMode="IfAvailable")
    with os.fdopen(its, "r+b", buffering=0) as raw:
        terminal = io.TextIOWrapper(raw, write_through=True)
        monkeypatch.setattr("sys.stdin", terminal)
        monkeypatch.setattr("sys.stderr", terminal)
        async with await Transport.connect(str(server.kubeconfig)):
            pass
        monkeypatch.undo()
        terminal.detach()
    assert (tmp_path / "input").read_text() == "the-code\n"
    assert json.loads((tmp_path / "info").read_text())["spec"] == {"interactive": True}
    assert "code?" in os.read(ours, 1000).decode()
    os.close(ours)


async def test_daemon_of_a_plugin_may_keep_its_output_open(server: ApiServer, tmp_path: Path) -> None:
    text = f"sleep 600 & echo $! > {tmp_path}/daemon; {printing(credential())}"
    use_plugin(server.kubeconfig, script(tmp_path / "plugin", text))
    server.answer("GET", "/x", said({}))
    try:
        async with await Transport.connect(str(server.kubeconfig)) as transport:
            assert await transport.request("GET", "/x") == b"{}"
    finally:
        os.kill(int((tmp_path / "daemon").read_text()), 9)


async def test_plugin_that_cannot_be_started_is_named_with_the_hint_of_the_kubeconfig(
    server: ApiServer, tmp_path: Path
) -> None:
    use_plugin(server.kubeconfig, "no-such-plugin", installHint="Install it:\n  brew \033install it.\n")
    assert (
        await refusal(server.kubeconfig)
        == "the plugin 'no-such-plugin' was not found: Install it: brew install it"
    )
    use_plugin(server.kubeconfig, "x" * 5000)
    assert await refusal(server.kubeconfig) == f"the plugin '{'x' * 199}…' was not found"
    use_plugin(server.kubeconfig, f"./{'x' * 5000}")
    assert (await refusal(server.kubeconfig)).endswith("x…' was not found")
    use_plugin(server.kubeconfig, "./")
    assert await refusal(server.kubeconfig) == f"the plugin '{tmp_path}' is a directory"
    script(tmp_path / "plugin", "").chmod(stat.S_IRUSR)
    use_plugin(server.kubeconfig, "./plugin")
    assert await refusal(server.kubeconfig) == f"the plugin '{tmp_path}/plugin' is not executable"
    (tmp_path / "plugin").chmod(0o700)
    (tmp_path / "plugin").write_text("#!/no/such/interpreter\n")
    assert (
        await refusal(server.kubeconfig)
        == f"the plugin '{tmp_path}/plugin' cannot be started: No such file or directory"
    )


INVALID = [
    ("text", "must be a mapping"),
    ({"apiVersion": V1}, "command: is missing"),
    ({"command": "a"}, "apiVersion: is missing"),
    (
        {"command": "a", "apiVersion": "client.authentication.k8s.io/v1alpha1"},
        f"apiVersion: must be '{V1}' or '{V1BETA1}'",
    ),
    ({"command": ["/a"], "apiVersion": V1}, "command: must be text"),
    ({"command": "a", "apiVersion": V1, "args": [1]}, "args[0]: must be text"),
    ({"command": "a", "apiVersion": V1, "env": [{"value": SECRET}]}, "env[0].name: is missing"),
    (
        {"command": "a", "apiVersion": V1, "interactiveMode": "Maybe"},
        "interactiveMode: must be 'Never', 'IfAvailable' or 'Always'",
    ),
]


@pytest.mark.parametrize(("plugin", "problem"), INVALID)
async def test_plugin_that_the_kubeconfig_describes_wrongly_is_not_run(
    server: ApiServer, plugin: object, problem: str
) -> None:
    content = json.loads(server.kubeconfig.read_text())
    content["users"][0]["user"] = {"exec": plugin}
    server.kubeconfig.write_text(json.dumps(content))
    assert await refusal(server.kubeconfig) == f"its field exec is not valid: {problem}"


async def test_plugin_that_needs_a_terminal_is_not_run_without_one(server: ApiServer, tmp_path: Path) -> None:
    command = script(tmp_path / "plugin", printing(credential()))
    use_plugin(server.kubeconfig, command, interactiveMode="Always")
    why = "its interactiveMode is Always, and standard input is no terminal"
    assert await refusal(server.kubeconfig) == f"the plugin '{command}' was not run: {why}"


def recording(folder: Path, answer: str) -> Path:
    """A plugin that writes down what it gets."""
    text = f"""cd {folder}
        printf %s "$KUBERNETES_EXEC_INFO" > info
        echo "$GIVEN:$#:$1:$HOME" > rest
        cat > input
{printing(answer)}"""
    return script(folder / "recording", text)


async def test_plugin_gets_arguments_variables_and_the_version(
    server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/of-ours")
    recording(tmp_path, credential(V1BETA1))
    variables = [{"name": "GIVEN", "value": "a b"}]
    use_plugin(server.kubeconfig, "./recording", apiVersion=V1BETA1, args=["--c=d e"], env=variables)
    server.answer("GET", "/x", said({}))
    async with await Transport.connect(str(server.kubeconfig)) as transport:
        await transport.request("GET", "/x")
    assert [asked.headers["Authorization"] for asked in server.asked] == [f"Bearer {SECRET}"]
    assert (tmp_path / "rest").read_text() == "a b:1:--c=d e:/home/of-ours\n"
    assert (tmp_path / "input").read_text() == ""
    info = {"apiVersion": V1BETA1, "kind": "ExecCredential", "spec": {"interactive": False}}
    assert json.loads((tmp_path / "info").read_text()) == info


async def test_plugin_gets_the_cluster_if_the_kubeconfig_says_so(server: ApiServer, tmp_path: Path) -> None:
    recording(tmp_path, credential())
    authority = Pair.make(tmp_path / "pair", "authority").certificate
    (tmp_path / "ca.crt").write_text(authority)
    cluster: dict[str, Any] = {
        "certificate-authority": "ca.crt",
        "tls-server-name": "kubernetes",
        "insecure-skip-tls-verify": False,
        "extensions": [
            {"name": "other", "extension": {"no": 1}},
            {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}},
        ],
    }
    use_plugin(server.kubeconfig, "./recording", cluster, provideClusterInfo=True)
    async with await Transport.connect(str(server.kubeconfig)):
        pass
    assert json.loads((tmp_path / "info").read_text())["spec"]["cluster"] == {
        "server": f"http://127.0.0.1:{server.port}",
        "tls-server-name": "kubernetes",
        "certificate-authority-data": b64encode(authority.encode()).decode(),
        "config": {"audience": "a"},
    }


async def test_plugin_gets_a_cluster_whose_extensions_are_no_list(server: ApiServer, tmp_path: Path) -> None:
    recording(tmp_path, credential())
    use_plugin(server.kubeconfig, "./recording", {"extensions": 5}, provideClusterInfo=True)
    async with await Transport.connect(str(server.kubeconfig)):
        pass
    assert json.loads((tmp_path / "info").read_text())["spec"]["cluster"].keys() == {"server"}


async def test_plugin_of_a_user_with_a_token_is_not_run_as_with_kubectl(
    server: ApiServer, tmp_path: Path
) -> None:
    use_plugin(server.kubeconfig, script(tmp_path / "plugin", "exit 1"))
    content = json.loads(server.kubeconfig.read_text())
    content["users"][0]["user"]["token"] = "of-the-file"
    server.kubeconfig.write_text(json.dumps(content))
    server.answer("GET", "/x", said({}))
    async with await Transport.connect(str(server.kubeconfig)) as transport:
        await transport.request("GET", "/x")
    assert [asked.headers["Authorization"] for asked in server.asked] == ["Bearer of-the-file"]


def counting(folder: Path, **status: str) -> Path:
    """A plugin whose tokens are 1, 2, …"""
    answer = credential(token="TOKEN", **status)
    text = f"echo >> {folder}/runs; n=$(wc -l < {folder}/runs); sed s/TOKEN/$n/ <<'END'\n{answer}\nEND"
    return script(folder / "counting", text)


async def tokens_of_three_requests(server: ApiServer) -> list[str]:
    async with await Transport.connect(str(server.kubeconfig)) as transport:
        for _ in range(3):
            await transport.request("GET", "/x")
    return [asked.headers["Authorization"].removeprefix("Bearer ") for asked in server.asked]


async def test_plugin_is_run_again_when_its_token_is_refused(server: ApiServer, tmp_path: Path) -> None:
    use_plugin(server.kubeconfig, counting(tmp_path))
    server.answer("GET", "/x", said({}), refused(401, "Unauthorized"), said({}))
    assert await tokens_of_three_requests(server) == ["1", "1", "2", "2"]


async def test_plugin_is_run_again_when_its_token_has_expired(server: ApiServer, tmp_path: Path) -> None:
    server.answer("GET", "/x", said({}))
    earlier = (datetime.now(UTC) - LONG).isoformat()
    use_plugin(server.kubeconfig, counting(tmp_path, expirationTimestamp=earlier))
    assert await tokens_of_three_requests(server) == ["2", "3", "4"]


async def test_plugin_is_not_run_again_before_its_token_expires(server: ApiServer, tmp_path: Path) -> None:
    server.answer("GET", "/x", said({}))
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    use_plugin(server.kubeconfig, counting(tmp_path, expirationTimestamp=later))
    assert await tokens_of_three_requests(server) == ["1", "1", "1"]


async def test_plugin_that_fails_later_ends_the_request_with_its_name(
    server: ApiServer, tmp_path: Path
) -> None:
    command = counting(tmp_path)
    use_plugin(server.kubeconfig, command)
    server.answer("GET", "/x", refused(401, "Unauthorized"))
    async with await Transport.connect(str(server.kubeconfig)) as transport:
        script(command, "echo the session is over >&2; exit 1")
        with pytest.raises(
            NotConfigured, match="counting' ended with exit code 1, and said: the session is over"
        ):
            await transport.request("GET", "/x")


async def test_certificate_of_a_plugin_is_shown_and_replaced_when_it_is_refused(tmp_path: Path) -> None:
    pair, old, new = (Pair.make(tmp_path / name, name) for name in ("server", "old", "new"))
    for one in (old, new):
        data = {"clientCertificateData": one.certificate, "clientKeyData": one.key}
        (one.directory / "answer").write_text(credential(**data))
    command = script(tmp_path / "plugin", f"cat {tmp_path}/answer")
    (tmp_path / "answer").symlink_to(old.directory / "answer")

    async def only_the_new(request: web.Request) -> web.StreamResponse:
        subject = dict(one for [one] in request.get_extra_info("peercert")["subject"])
        return await (said({}) if subject["commonName"] == "new" else refused(401, "Unauthorized"))(request)

    async with ApiServer(tmp_path, pair.serving(old, new)) as server:
        server.answer("GET", "/x", said({}), only_the_new)
        server.answer("GET", "/watched", lines({"a": 1}, then="silent"))
        cluster = {
            "server": f"https://127.0.0.1:{server.port}",
            "certificate-authority": str(pair.directory / "tls.crt"),
        }
        use_plugin(server.kubeconfig, command, cluster)
        async with await Transport.connect(str(server.kubeconfig)) as transport:
            assert await transport.request("GET", "/x") == b"{}"
            async with transport.stream("/watched", (), silence=LONG) as stream:
                await anext(stream)
                (tmp_path / "answer").unlink()
                (tmp_path / "answer").symlink_to(new.directory / "answer")
                assert await transport.request("GET", "/x") == b"{}"
                with pytest.raises(Unreachable):
                    await anext(stream)
    assert [asked.client for asked in server.asked if asked.path == "/x"] == ["old", "old", "new"]
    assert not any("Authorization" in asked.headers for asked in server.asked)


@pytest.fixture
def of_administrator(control_plane: ControlPlane, tmp_path: Path) -> Path:
    """A kubeconfig whose plugin gets the token of an administrator, and says it."""
    kubeconfig = tmp_path / "kubeconfig"
    content = json.loads(control_plane.kubeconfig.read_text())
    token = content["users"][0]["user"]["token"]
    kubeconfig.write_text(json.dumps(content))
    recording(tmp_path, credential(token=token))
    use_plugin(kubeconfig, "./recording", provideClusterInfo=True)
    return kubeconfig


@pytest.mark.cluster
async def test_real_api_server_accepts_the_token_of_a_plugin(of_administrator: Path) -> None:
    async with await Transport.connect(str(of_administrator)) as transport:
        assert isinstance(await Client(transport).list(NODES), list)


@pytest.mark.cluster
async def test_command_names_the_plugin_in_its_only_sentence(of_administrator: Path, tmp_path: Path) -> None:
    script(tmp_path / "recording", "echo 'run: corp login' >&2; exit 2")
    ran = await Command({"KUBECONFIG": str(of_administrator)})("stop", "--reason", "test")
    assert ran.err == (
        f"paramedic: The kubeconfig {of_administrator} cannot be used: for its user 'cluster-admin', "
        f"the plugin '{tmp_path}/recording' ended with exit code 2, and said: run: corp login.\n"
    )
    assert ran.code == 1
