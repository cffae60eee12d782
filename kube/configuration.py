"""Finds the API server and our credentials: by a kubeconfig, else by the service account of the Pod.

We choose cluster and user in the files, and run a credential plugin; the library gets these two alone. It
ignores a user without usable credentials, and would send anonymous requests: that is an error here. Only this
module of the package reads the environment.
"""

import asyncio
import os
from base64 import b64decode
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import yaml
from kubernetes.aio.client import Configuration
from kubernetes.aio.config import ConfigException, load_incluster_config, load_kube_config_from_dict

from kube.credential_plugin import PluginError, plugin_credentials
from kube.errors import NotConfigured
from objects.address import is_loopback
from objects.durations import in_words

Content = Mapping[str, Any]

_PATHS = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
_IMPERSONATION = ("as", "as-uid", "as-groups", "as-user-extra")
_BEFORE_A_PLUGIN = ("token", "tokenFile", "username", "client-certificate", "client-certificate-data")
"""As in kubectl, the plugin of a user with one of these is not run."""
_REFRESHING = timedelta(seconds=10)
"""For a token of OpenID Connect that has expired."""


@dataclass(frozen=True)
class Usable:
    """The cluster and the user of one context; paths are absolute, and empty fields are left out."""

    files: str
    """A list in the format of $KUBECONFIG, for messages."""
    cluster: Content
    user: Content
    user_name: str


def usable(files: str, context: str | None) -> Usable:
    """The cluster and the user of the context in `files`, a list as in $KUBECONFIG.

    As in kubectl, missing files in a list are ignored, and the first file with a current-context decides.

    Raises:
        NotConfigured: none exists, one is not a kubeconfig, or together they lack the API server or the
            credentials of `context` (None: the current one).

    """
    found: list[Path] = []
    for path in filter(None, files.split(os.pathsep)):
        try:
            file = Path(path).expanduser()
            found += [file] if file.exists() else []
        except RuntimeError as error:  # ~with an unknown user name
            raise _unusable(path, str(error)) from error
        except OSError as error:  # a folder without access
            raise _unusable(path, error.strerror or type(error).__name__) from error
    if not found:
        raise _unusable(files, "there is no such file")
    listed = os.pathsep.join(map(str, found))
    contents = [_read(path) for path in found]
    currents = (str(content["current-context"]) for content in contents if content.get("current-context"))
    name = context or next(currents, "")
    why = _lacks(contents, name, is_current=not context)
    if why:
        raise _unusable(listed, why)
    chosen = _named(contents, "context", name) or {}
    cluster = _named(contents, "cluster", chosen["cluster"]) or {}
    user = _named(contents, "user", chosen["user"]) or {}
    for entry, kind in ((user, "user"), (cluster, "cluster")):
        if why := _unfit(entry, f"its {kind} {chosen[kind]!r}"):
            raise _unusable(listed, why)
    return Usable(listed, cluster, user, str(chosen["user"]))


def _unfit(entry: Content, name: str) -> str:
    """Why that cluster or user would be used in part only; "" if all of it is usable."""
    for field in _IMPERSONATION:
        if field in entry:
            return f"{name} has {field}, and Paramedic impersonates no user"
    provider = entry.get("auth-provider")
    if provider and not (isinstance(provider, dict) and provider.get("name") == "oidc"):
        found = str(provider.get("name") if isinstance(provider, dict) else provider)
        return f"{name} has the auth-provider {found!r}, which only old versions of kubectl have: use exec"
    if _has(entry, "client-certificate") and not _has(entry, "client-key"):
        return f"{name} has a client-certificate, but no client-key"
    for field in _PATHS:
        data = entry.get(f"{field}-data")
        try:
            if data:
                b64decode(str(data))
            elif (
                field in entry
                and not (field == "tokenFile" and "token" in entry)
                and not Path(entry[field]).read_bytes().strip()
            ):
                return f"the {field} {entry[field]} of {name} is empty"
        except OSError as error:
            return f"the {field} {entry[field]} of {name} cannot be read: {_words(error)}"
        except (TypeError, ValueError):
            return f"the {field}{'-data' if data else ''} of {name} is no {'base64' if data else 'path'}"
    return ""


def _has(entry: Content, field: str) -> bool:
    return field in entry or f"{field}-data" in entry


def _words(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _unusable(files: str | Path, why: str) -> NotConfigured:
    return NotConfigured(f"The kubeconfig {files} cannot be used: {why}.")


def _read(path: Path) -> Content:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except IsADirectoryError as error:
        raise _unusable(path, "it is a directory") from error
    except OSError as error:
        raise _unusable(path, error.strerror or type(error).__name__) from error
    except UnicodeDecodeError as error:
        raise _unusable(path, "it is not UTF-8 text") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        why = f"line {mark.line + 1} is not valid YAML" if mark else "it is not valid YAML"
        raise _unusable(path, why) from None  # the error quotes that line, which may hold a token
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        # PyYAML's constructors raise these for a scalar that does not fit its tag.
        raise _unusable(path, "it has a value that cannot be read") from None
    if not content:
        raise _unusable(path, "it is empty")
    if not isinstance(content, dict):
        raise _unusable(path, "it is YAML, but not a mapping")
    return {
        **content,
        **{f"{kind}s": _entries(content, kind, path) for kind in ("cluster", "context", "user")},
    }


def _entries(content: Content, kind: str, path: Path) -> list[Content]:
    """The clusters, contexts or users without empty fields; relative paths begin at the file's folder."""
    listed = content.get(f"{kind}s")
    entries: list[Content] = []
    for entry in listed if isinstance(listed, list) else ():
        if isinstance(entry, dict):
            value = entry.get(kind)
            fields = {name: one for name, one in value.items() if one} if isinstance(value, dict) else {}
            for name in _PATHS:
                if isinstance(fields.get(name), str):
                    fields[name] = str(path.absolute().parent / fields[name])
            plugin = fields.get("exec")
            if isinstance(plugin, dict) and isinstance(command := plugin.get("command"), str):
                command = str(path.absolute().parent / command) if os.sep in command else command
                fields["exec"] = {**plugin, "command": command}
            entries.append({"name": entry.get("name"), kind: fields})
    return entries


def _lacks(contents: list[Content], name: str, *, is_current: bool) -> str:
    """The first part that the files together lack; "" if they are complete."""
    if not name:
        return "it has no current-context"
    entry = _named(contents, "context", name)
    if entry is None:
        return f"it has no context {name!r}{', which its current-context names' if is_current else ''}"
    cluster, user = entry.get("cluster"), entry.get("user")
    if not cluster:
        return f"its context {name!r} names no cluster"
    settings = _named(contents, "cluster", cluster)
    if settings is None:
        return f"its context {name!r} names the cluster {cluster!r}, which it does not have"
    try:
        server = urlsplit(str(settings.get("server", "")))
        is_address = server.scheme in {"https", "http"} and bool(server.hostname)
    except ValueError:  # "[" without "]"
        is_address = False
    if not is_address:
        return f"its cluster {cluster!r} has no server that is an address with https://"
    if not user:
        return f"its context {name!r} names no user"
    if _named(contents, "user", user) is None:
        return f"its context {name!r} names the user {user!r}, which it does not have"
    return ""


def _named(contents: Iterable[Content], kind: str, name: str) -> Content | None:
    entries = (entry for content in contents for entry in content[f"{kind}s"])
    return next((entry[kind] for entry in entries if entry["name"] == name), None)


Load = Callable[[Configuration], Awaitable[datetime | None]]
"""Reads server and credentials into a Configuration, and returns when these expire, if that is known.

It is called again when they have expired or are refused.
"""

_SCHEME = "BearerToken"  # what the library calls the Authorization header

# Exceptions that the library lets through for an incomplete or invalid kubeconfig.
_UNREADABLE = (
    ConfigException,
    aiohttp.ClientError,
    OSError,
    AttributeError,
    KeyError,
    TypeError,
    ValueError,
)


def loader(kubeconfig: str | None, context: str | None) -> Load:
    """The source: the given file, else $KUBECONFIG, else ~/.kube/config, else the Pod's service account."""
    files = kubeconfig or os.environ.get("KUBECONFIG") or ""
    if not files:
        default = Path.home() / ".kube" / "config"
        try:
            files = str(default) if default.exists() else ""
        except OSError:  # a folder without access; reading it reports that
            files = str(default)
    return _from_kubeconfig(files, context) if files else _from_service_account


async def configure(load: Load) -> tuple[Configuration, datetime | None]:
    """A Configuration without retries, which are left to the caller, and when its credentials expire.

    Raises NotConfigured: there is no source, or it cannot be read.
    """
    configuration = without_retries()
    expire_at = await load(configuration)
    use_proxy(configuration)
    return configuration, expire_at


def without_retries() -> Configuration:
    configuration = Configuration()
    configuration.retries = None
    configuration.client_go_retries = False
    # As client-go: authorities of real clusters (EKS, MicroK8s) lack extensions that RFC 5280 requires, and
    # Python 3.13 refuses them. Chain, host name and dates are still verified.
    configuration.disable_strict_ssl_verification = True
    return configuration


def use_proxy(configuration: Configuration) -> None:
    """Use the proxy of the environment, if there is one for the server."""
    # Not aiohttp's trust_env: it would read ~/.netrc before each request, and fail on invalid content.
    url, proxies = urlsplit(configuration.host), getproxies()
    host = url.hostname or ""
    # As in Go, NO_PROXY may name a network of addresses; Python supports only names.
    is_in_network = any(_is_in(host, entry.strip()) for entry in proxies.get("no", "").split(","))
    is_direct = is_loopback(host) or proxy_bypass(host) or is_in_network
    configuration.proxy = configuration.proxy or (None if is_direct else proxies.get(url.scheme))


def use_token(configuration: Configuration, token: str | None) -> None:
    """Send this token from now on; None means none."""
    configuration.api_key = {_SCHEME: f"Bearer {token}"} if token else {}


def _from_kubeconfig(files: str, context: str | None) -> Load:
    async def load(configuration: Configuration) -> datetime | None:
        found = usable(files, context)
        try:
            user, expire_at = await _with_credentials(found)
            async with asyncio.timeout(_REFRESHING.total_seconds()):
                document = {
                    "current-context": "it",
                    "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
                    "clusters": [{"name": "it", "cluster": found.cluster}],
                    "users": [{"name": "it", "user": user}],
                }
                loaded = await load_kube_config_from_dict(  # type: ignore[no-untyped-call]  # no types
                    document, client_configuration=configuration
                )
        except PluginError as error:
            raise _unusable(found.files, f"for its user {found.user_name!r}, {error}") from error
        except TimeoutError as error:
            why = (
                f"the token of its user {found.user_name!r} was not refreshed within {in_words(_REFRESHING)}"
            )
            raise _unusable(found.files, why) from error
        except _UNREADABLE as error:
            raise _unusable(found.files, _words(error)) from error
        has_credentials = getattr(loaded, "token", None) or getattr(loaded, "cert_file", None)
        if not has_credentials and urlsplit(found.cluster["server"]).scheme == "https":
            raise _unusable(found.files, f"its user {found.user_name!r} has no credentials")
        return expire_at

    return load


async def _with_credentials(found: Usable) -> tuple[Content, datetime | None]:
    """The user for the library, with the credentials of its plugin, and when these expire."""
    user = {name: value for name, value in found.user.items() if name != "exec"}
    expire_at = None
    if "exec" in found.user and not any(field in user for field in _BEFORE_A_PLUGIN):
        given = await plugin_credentials(found.user["exec"], found.cluster, os.environ)
        user, expire_at = {**user, **given.fields}, given.expire_at
    elif "tokenFile" in user and "token" not in user:
        user["token"] = _text(user["tokenFile"])
    if "token" in user:
        # Files of tokens end in a newline, which no header may contain.
        user["token"] = token = str(user["token"]).strip()
        if not (token.isascii() and token.isprintable()):
            raise _unusable(
                found.files, f"the token of its user {found.user_name!r} has characters that it cannot have"
            )
    return user, expire_at


def _text(path: str) -> str:
    return Path(path).read_text(encoding="utf-8", errors="replace")


async def _from_service_account(configuration: Configuration) -> None:
    try:
        load_incluster_config(configuration)  # type: ignore[no-untyped-call]  # the library has no types
    except _UNREADABLE as error:
        raise NotConfigured(
            f"No kubeconfig was given or found, and there is no service account of a Pod: {error}"
        ) from error


def _is_in(host: str, network: str) -> bool:
    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:
        return False
