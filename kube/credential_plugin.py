"""Runs the program that a kubeconfig names for the credentials of its user, as kubectl does.

The library also runs it, but without the cluster that `provideClusterInfo` asks for and without a limit, and
goes on without credentials if it fails. Standard output of a plugin is a credential, and is never quoted.
"""

import asyncio
import json
import os
import signal
import sys
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from shutil import which
from typing import Any, Literal

from pydantic import Field, ValidationError

from objects.durations import in_words
from objects.field_problem import FieldProblem, quoted
from objects.frozen import FrozenObject
from objects.short_text import CUT, cut_to_length, on_one_line

LIMIT = timedelta(seconds=30)
LIMIT_AT_A_TERMINAL = timedelta(minutes=5)
"""A person may have to log in."""
_DRAINING = timedelta(seconds=1)
"""For the rest of the output after the exit: a daemon that the plugin started may keep the pipes open."""
_MOST_PRINTED = 1024 * 1024
_HALF_SAID = 300
"""Bytes of standard error that a message has from its beginning, and from its end."""
_LONGEST_HINT = 1000
_LONGEST_COMMAND = 200
_LONGEST_VERSION = 100
_STDOUT = 1
_CLUSTER_FIELDS = (
    "server",
    "tls-server-name",
    "insecure-skip-tls-verify",
    "proxy-url",
    "disable-compression",
)
_API_GROUP = "client.authentication.k8s.io"
_EXTENSION = f"{_API_GROUP}/exec"
"""The name of an extension of a kubeconfig, not of an annotation."""

Entry = Mapping[str, Any]


class PluginError(Exception):
    """There are no credentials; the message names the plugin, and ends without a full stop."""


class InteractiveMode(StrEnum):
    """The use of standard input by the plugin, where that is a terminal."""

    NEVER = "Never"
    IF_AVAILABLE = "IfAvailable"
    ALWAYS = "Always"


class _Variable(FrozenObject):
    name: str = Field(min_length=1)
    value: str | None = None


class _Exec(FrozenObject):
    command: str = Field(min_length=1)
    api_version: Literal["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"]
    args: tuple[str, ...] = ()
    env: tuple[_Variable, ...] = ()
    install_hint: str | None = None
    provide_cluster_info: bool = False
    interactive_mode: InteractiveMode = InteractiveMode.IF_AVAILABLE

    def __str__(self) -> str:
        return f"the plugin {quoted(self.command, _LONGEST_COMMAND)}"


class _Status(FrozenObject):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: datetime | None = None


class _ExecCredential(FrozenObject):
    api_version: str
    kind: Literal["ExecCredential"]
    status: _Status


@dataclass(frozen=True)
class PluginCredentials:
    """The answer, as fields of a user in a kubeconfig."""

    fields: Entry = field(repr=False)
    expire_at: datetime | None
    """None: they are valid until the API server refuses them."""


async def plugin_credentials(
    entry: object, cluster: Entry, environment: Mapping[str, str]
) -> PluginCredentials:
    """Run the plugin of `entry`, the field `exec` of a user; paths in `cluster` are absolute.

    Raises:
        PluginError: it gave no credentials.
        OSError: the certificate authority of the cluster cannot be read.

    """
    given = {key: value for key, value in entry.items() if value} if isinstance(entry, dict) else entry
    try:
        plugin = _Exec.model_validate(given)
    except ValidationError as error:
        raise PluginError(f"its field exec is not valid: {FieldProblem.of(error, 0)}") from None

    is_at_terminal = sys.stdin is not None and sys.stdin.isatty()
    if plugin.interactive_mode is InteractiveMode.ALWAYS and not is_at_terminal:
        why = "its interactiveMode is Always, and standard input is no terminal"
        raise PluginError(f"{plugin} was not run: {why}")
    is_interactive = is_at_terminal and plugin.interactive_mode is not InteractiveMode.NEVER
    spec: dict[str, object] = {"interactive": is_interactive}
    if plugin.provide_cluster_info:
        spec["cluster"] = _cluster_info(cluster)
    info = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}

    variables = {variable.name: variable.value or "" for variable in plugin.env}
    variables["KUBERNETES_EXEC_INFO"] = json.dumps(info, default=str)
    process = _Process(plugin, is_at_terminal=is_at_terminal)
    await process.run({**environment, **variables}, is_interactive=is_interactive)
    return process.credentials()


def _cluster_info(cluster: Entry) -> Entry:
    info = {name: cluster[name] for name in _CLUSTER_FIELDS if cluster.get(name)}
    authority = cluster.get("certificate-authority-data")
    if not authority and (path := cluster.get("certificate-authority")):
        authority = b64encode(Path(path).read_bytes()).decode()
    if authority:
        info["certificate-authority-data"] = authority
    extensions = cluster.get("extensions")
    for extension in extensions if isinstance(extensions, list) else ():
        if isinstance(extension, dict) and extension.get("name") == _EXTENSION:
            info["config"] = extension.get("extension")
    return info


def _not_startable(plugin: _Exec, path: str | None) -> str:
    """Why its command is no program, with the hint of the kubeconfig."""
    what = "is not executable" if which(plugin.command, os.F_OK, path) else "was not found"
    if os.sep in plugin.command and os.path.isdir(plugin.command):  # noqa: PTH112  pathlib raises for a long name
        what = "is a directory"
    hint = " ".join(on_one_line(plugin.install_hint or "").split()).rstrip(".")
    return f"{what}{f': {cut_to_length(hint, _LONGEST_HINT)}' if hint else ''}"


class _Process(asyncio.SubprocessProtocol):
    """One run of a plugin: its output has a limit, and it ends with the call."""

    def __init__(self, plugin: _Exec, *, is_at_terminal: bool) -> None:
        self._plugin = plugin
        self._is_at_terminal = is_at_terminal
        self._printed, self._said = bytearray(), bytearray()
        self._exited, self._ended = asyncio.Event(), asyncio.Event()

    async def run(self, environment: Mapping[str, str], *, is_interactive: bool) -> None:
        """Run the plugin to its end; raises PluginError if it failed."""
        command = self._plugin.command
        program = which(command, path=environment.get("PATH"))
        if program is None:
            raise self._error(_not_startable(self._plugin, environment.get("PATH")))
        try:
            transport, _ = await asyncio.get_running_loop().subprocess_exec(
                lambda: self,
                program,
                *self._plugin.args,
                env=environment,
                stdin=sys.stdin if is_interactive else asyncio.subprocess.DEVNULL,
                # Its children end with it. At a terminal it must stay in our session, to ask at /dev/tty.
                start_new_session=not self._is_at_terminal,
            )
        except (OSError, ValueError) as error:
            raise self._error(f"cannot be started: {getattr(error, 'strerror', None) or error}") from error
        limit = LIMIT_AT_A_TERMINAL if self._is_at_terminal else LIMIT
        try:
            async with asyncio.timeout(limit.total_seconds()):
                await self._ended.wait()
        except TimeoutError:
            raise self._error(f"did not end within {in_words(limit)}") from None
        finally:
            await self._end(transport)
        if len(self._printed) > _MOST_PRINTED:
            raise self._error(f"printed over {_MOST_PRINTED} bytes")
        if code := transport.get_returncode():
            # Most real-time signals have no name.
            has_name = -code in set(signal.Signals)
            by_signal = f"by {signal.Signals(-code).name if has_name else f'signal {-code}'}"
            raise self._error(f"ended {f'with exit code {code}' if code > 0 else by_signal}")

    async def _end(self, transport: asyncio.SubprocessTransport) -> None:
        if transport.get_returncode() is None:
            with suppress(ProcessLookupError):
                if self._is_at_terminal:
                    transport.kill()
                else:
                    os.killpg(transport.get_pid(), signal.SIGKILL)
            with suppress(TimeoutError):
                async with asyncio.timeout(_DRAINING.total_seconds()):
                    await self._exited.wait()
        transport.close()

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        piece = data if isinstance(data, bytes) else data.encode()
        if fd == _STDOUT:
            self._printed += piece[: _MOST_PRINTED + 1]
            if len(self._printed) > _MOST_PRINTED:
                self._ended.set()
            return
        self._said += piece.replace(b"\0", b" ")
        if len(self._said) > 2 * _HALF_SAID:
            self._said[_HALF_SAID:-_HALF_SAID] = b"\0"  # separates the two parts
        if sys.stderr.isatty():  # as with kubectl: it may ask the person to log in
            sys.stderr.write(piece.decode(errors="replace"))
            sys.stderr.flush()

    def process_exited(self) -> None:
        self._exited.set()
        asyncio.get_running_loop().call_later(_DRAINING.total_seconds(), self._ended.set)

    def connection_lost(self, _: Exception | None) -> None:
        self._ended.set()

    def credentials(self) -> PluginCredentials:
        """The credentials that the plugin printed; raises PluginError if these are none."""
        if not self._printed.strip():
            raise self._error("printed no ExecCredential")
        try:
            answer = _ExecCredential.model_validate_json(bytes(self._printed))
        except ValidationError as error:
            raise self._error(f"printed no valid ExecCredential: {FieldProblem.of(error, 0)}") from None
        version, asked = answer.api_version, self._plugin.api_version
        if not version.startswith(f"{_API_GROUP}/"):  # a credential may stand there
            raise self._error(f"printed no ExecCredential of {_API_GROUP}")
        if version != asked:
            found = quoted(version, _LONGEST_VERSION)
            why = (
                f"printed an ExecCredential of the apiVersion {found}, and the kubeconfig asks for {asked!r}"
            )
            raise self._error(why)
        status, token = answer.status, (answer.status.token or "").strip()
        certificate, key = status.client_certificate_data, status.client_key_data
        if bool(certificate) != bool(key):
            raise self._error("printed an ExecCredential with only one of certificate and key")
        if not (token or certificate):
            raise self._error("printed an ExecCredential without a token and without a certificate")
        if not (token.isascii() and token.isprintable()):
            raise self._error("printed a token that has characters that it cannot have")
        if certificate and key and not ("CERTIFICATE-----" in certificate and "PRIVATE KEY-----" in key):
            raise self._error("printed a certificate or a key that is no PEM")
        fields = {"token": token} if token else {}
        if certificate and key:
            fields["client-certificate-data"] = b64encode(certificate.encode()).decode()
            fields["client-key-data"] = b64encode(key.encode()).decode()
        return PluginCredentials(fields, status.expiration_timestamp)

    def _error(self, what: str) -> PluginError:
        text = on_one_line(self._said.decode(errors="replace").replace("\0", f" {CUT} "))
        said = " ".join(text.split()).rstrip(".")
        return PluginError(f"{self._plugin} {what}{f', and said: {said}' if said else ''}")
