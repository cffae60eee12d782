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
from tests.support.api.api_server import ApiServer, said

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
