"""A kubeconfig that cannot be used is refused by its path and what is wrong with it."""

import json
import logging
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kube.errors import NotConfigured, Unreachable
from kube.transport import Transport
from tests.support.api.api_server import ApiServer, refused, said

Change = Callable[[dict[str, Any]], object]
CONTENTS = [
    pytest.param("", "it is empty", id="empty"),
    pytest.param("a: b\nc: [\n", "line 3 is not valid YAML", id="no YAML"),
    pytest.param("\x00", "it is not valid YAML", id="control characters"),
    pytest.param('a: !!int ""', "it has a value that cannot be read", id="a tag that does not fit"),
    pytest.param("a: " + "[" * 4000 + "]" * 4000, "it has a value that cannot be read", id="too deep"),
    pytest.param("a text", "it is YAML, but not a mapping", id="text"),
    pytest.param("[a]", "it is YAML, but not a mapping", id="a list"),
    pytest.param("a: b", "it has no current-context", id="something else"),
]
CHANGES: list[Any] = [
    pytest.param(lambda it: it.pop("current-context"), "it has no current-context", id="no current-context"),
    pytest.param(
        lambda it: it.update({"current-context": "nix"}),
        "it has no context 'nix', which its current-context names",
        id="a context that is not there",
    ),
    pytest.param(
        lambda it: it.update(contexts=None),
        "it has no context 'test', which its current-context names",
        id="no contexts",
    ),
    pytest.param(
        lambda it: it["contexts"][0]["context"].pop("cluster"),
        "its context 'test' names no cluster",
        id="a context without a cluster",
    ),
    pytest.param(
        lambda it: it["contexts"][0]["context"].update(cluster="nowhere"),
        "its context 'test' names the cluster 'nowhere', which it does not have",
        id="a cluster that is not there",
    ),
    pytest.param(
        lambda it: it["clusters"][0]["cluster"].pop("server"),
        "its cluster 'test' has no server that is an address with https://",
        id="no server",
    ),
    pytest.param(
        lambda it: it["clusters"][0]["cluster"].update(server="https://[::1"),
        "its cluster 'test' has no server that is an address with https://",
        id="an address that is none",
    ),
    pytest.param(
        lambda it: it["contexts"][0]["context"].pop("user"),
        "its context 'test' names no user",
        id="a context without a user",
    ),
    pytest.param(
        lambda it: it["contexts"][0]["context"].update(user="nobody"),
        "its context 'test' names the user 'nobody', which it does not have",
        id="a user that is not there",
    ),
]


async def refusal(kubeconfig: Path | str) -> str:
    with pytest.raises(NotConfigured) as refused:
        await Transport.connect(str(kubeconfig))
    return refused.value.message


@pytest.mark.parametrize(("content", "why"), CONTENTS)
async def test_file_that_is_no_kubeconfig_is_refused(tmp_path: Path, content: str, why: str) -> None:
    file = tmp_path / "broken"
    file.write_text(content)
    assert await refusal(file) == f"The kubeconfig {file} cannot be used: {why}."


async def test_line_that_is_no_yaml_is_not_in_the_error_or_its_traceback(tmp_path: Path) -> None:
    file = tmp_path / "broken"
    file.write_text("users:\n- user:\n    token: hunter2: more\n")
    with pytest.raises(NotConfigured, match="line 3 is not valid YAML") as caught:
        await Transport.connect(str(file))
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


async def test_path_that_is_no_text_file_is_refused(tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x9e")
    assert await refusal(binary) == f"The kubeconfig {binary} cannot be used: it is not UTF-8 text."
    assert await refusal(tmp_path) == f"The kubeconfig {tmp_path} cannot be used: it is a directory."


async def test_path_that_cannot_be_looked_for_is_refused(tmp_path: Path) -> None:
    endless = tmp_path / ("a" * 300)
    assert await refusal(endless) == f"The kubeconfig {endless} cannot be used: File name too long."
    why = "Could not determine home directory."
    assert await refusal("~nobody-of-that-name/config") == (
        f"The kubeconfig ~nobody-of-that-name/config cannot be used: {why}."
    )


@pytest.mark.parametrize(("change", "why"), CHANGES)
async def test_kubeconfig_that_lacks_a_part_is_refused(server: ApiServer, change: Change, why: str) -> None:
    content = json.loads(server.kubeconfig.read_text())
    change(content)
    server.kubeconfig.write_text(json.dumps(content))
    assert await refusal(server.kubeconfig) == f"The kubeconfig {server.kubeconfig} cannot be used: {why}."


async def test_only_kubeconfig_that_is_not_there_is_refused_and_one_of_several_is_passed_over(
    server: ApiServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    nowhere = tmp_path / "nowhere"
    assert await refusal(nowhere) == f"The kubeconfig {nowhere} cannot be used: there is no such file."
    async with await Transport.connect(os.pathsep.join([str(nowhere), str(server.kubeconfig)])):
        pass
    assert not caplog.records  # the library would log the missing file at each attempt


async def test_first_file_that_names_a_current_context_decides_as_with_kubectl(
    server: ApiServer, tmp_path: Path
) -> None:
    content = json.loads(server.kubeconfig.read_text())
    nameless, other = tmp_path / "nameless", tmp_path / "other"
    nameless.write_text(json.dumps({"current-context": "", "clusters": []}))
    for kind in ("cluster", "user", "context"):
        content[f"{kind}s"][0]["name"] = "other"
    content["contexts"][0]["context"] = {"cluster": "other", "user": "other"}
    content["clusters"][0]["cluster"] = {"server": "http://127.0.0.1:1"}
    other.write_text(json.dumps(content | {"current-context": "other"}))

    server.answer("GET", "/version", said({}))
    files = os.pathsep.join(map(str, (nameless, server.kubeconfig, other)))
    async with await Transport.connect(files) as transport:
        assert await transport.request("GET", "/version")
    async with await Transport.connect(files, context="other") as transport:
        with pytest.raises(Unreachable):
            await transport.request("GET", "/version")


async def test_certificate_that_is_none_is_refused(server: ApiServer) -> None:
    content = json.loads(server.kubeconfig.read_text())
    content["clusters"][0]["cluster"] = {
        "server": "https://127.0.0.1:1",
        "certificate-authority": str(server.kubeconfig),
    }
    server.kubeconfig.write_text(json.dumps(content))
    assert (await refusal(server.kubeconfig)).startswith(
        "The certificates for https://127.0.0.1:1 cannot be used: "
    )


NO_CREDENTIALS = "its user 'test' has no credentials"
GONE = "which only old versions of kubectl have: use exec"
USERS: list[tuple[dict[str, object], str]] = [
    ({}, NO_CREDENTIALS),
    ({"token": ""}, NO_CREDENTIALS),
    ({"token": " "}, NO_CREDENTIALS),
    ({"username": "ada"}, NO_CREDENTIALS),
    ({"client-key": "here"}, NO_CREDENTIALS),
    ({"unknown": "field"}, NO_CREDENTIALS),
    ({"auth-provider": {"name": "gcp"}}, f"its user 'test' has the auth-provider 'gcp', {GONE}"),
    ({"auth-provider": {"name": "azure"}}, f"its user 'test' has the auth-provider 'azure', {GONE}"),
    ({"auth-provider": {"name": "oidc"}}, "oidc: missing configuration"),
    ({"as": "ada", "token": "a"}, "its user 'test' has as, and Paramedic impersonates no user"),
    ({"as-groups": ["a"], "token": "a"}, "its user 'test' has as-groups, and Paramedic impersonates no user"),
    (
        {"tokenFile": "/not/there"},
        "the tokenFile /not/there of its user 'test' cannot be read: No such file or directory",
    ),
    ({"tokenFile": "nothing"}, "the tokenFile FOLDER/nothing of its user 'test' is empty"),
    ({"tokenFile": "."}, "the tokenFile FOLDER of its user 'test' cannot be read: Is a directory"),
    ({"tokenFile": ["a"]}, "the tokenFile of its user 'test' is no path"),
    ({"token": "a\nb"}, "the token of its user 'test' has characters that it cannot have"),
    ({"client-certificate": "here"}, "its user 'test' has a client-certificate, but no client-key"),
    (
        {"client-certificate": "/not/there", "client-key": "here"},
        "the client-certificate /not/there of its user 'test' cannot be read: No such file or directory",
    ),
    (
        {"client-certificate": "here", "client-key": "nothing"},
        "the client-key FOLDER/nothing of its user 'test' is empty",
    ),
    (
        {"client-certificate-data": "a", "client-key": "here"},
        "the client-certificate-data of its user 'test' is no base64",
    ),
]
"""A user of an API server with https, and why it cannot be used."""


@pytest.mark.parametrize(("user", "why"), USERS)
async def test_user_without_usable_credentials_is_refused_and_asks_nothing(
    server: ApiServer, tmp_path: Path, user: dict[str, object], why: str
) -> None:
    (tmp_path / "nothing").write_text("\n")
    (tmp_path / "here").write_text("anything")
    content = json.loads(server.kubeconfig.read_text())
    content["clusters"][0]["cluster"] = {"server": f"https://127.0.0.1:{server.port}"}
    content["users"][0]["user"] = user
    server.kubeconfig.write_text(json.dumps(content))
    expected = f"The kubeconfig {server.kubeconfig} cannot be used: {why.replace('FOLDER', str(tmp_path))}."
    assert await refusal(server.kubeconfig) == expected


async def test_user_without_credentials_is_accepted_for_a_proxy_that_has_them(server: ApiServer) -> None:
    content = json.loads(server.kubeconfig.read_text())
    content["users"][0]["user"] = {}
    server.kubeconfig.write_text(json.dumps(content))
    server.answer("GET", "/x", said({}))
    async with await Transport.connect(str(server.kubeconfig)) as transport:
        assert await transport.request("GET", "/x") == b"{}"


async def test_paths_begin_at_the_folder_of_the_file_that_has_them(server: ApiServer, tmp_path: Path) -> None:
    content = json.loads(server.kubeconfig.read_text())
    (tmp_path / "users").mkdir()
    users, others = tmp_path / "users" / "config", tmp_path / "others"
    users.write_text(
        json.dumps({"users": [{"name": "test", "user": {"tokenFile": "my-token", "token": None}}]})
    )
    (tmp_path / "users" / "my-token").write_text("beside-the-user\n")
    others.write_text(json.dumps({**content, "users": []}))
    server.answer("GET", "/x", said({}))
    async with await Transport.connect(os.pathsep.join(map(str, (users, others)))) as transport:
        await transport.request("GET", "/x")
    assert [asked.headers["Authorization"] for asked in server.asked] == ["Bearer beside-the-user"]


async def test_token_file_that_is_emptied_later_is_named(server: ApiServer, transport: Transport) -> None:
    server.answer("GET", "/x", refused(401, "Unauthorized"))
    server.token_file.write_text("")
    with pytest.raises(NotConfigured, match=r"the tokenFile .*/token of its user 'test' is empty"):
        await transport.request("GET", "/x")
    assert [asked.headers["Authorization"] for asked in server.asked] == ["Bearer first-token"]
