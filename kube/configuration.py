"""Finds the API server and our credentials: by a kubeconfig, else by the service account of the Pod.

The library reads the files and runs credential plugins; we choose the file and the proxy, and name the file
in errors. Only this module of the package reads the environment.
"""

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import yaml
from kubernetes.aio.client import Configuration
from kubernetes.aio.config import ConfigException, load_incluster_config, load_kube_config

from kube.errors import NotConfigured

Content = Mapping[str, Any]


@dataclass(frozen=True)
class Usable:
    """The files and the context for the library."""

    files: str
    """A list in the format of $KUBECONFIG."""
    context: str


def usable(files: str, context: str | None) -> Usable:
    """The existing ones of `files` (a list as in $KUBECONFIG), and the context, validated for the library.

    Errors of the library for a missing or incomplete file are accidental, and may not name the file. As in
    kubectl, missing files in a list are ignored, and the first file with a current-context decides; the
    library uses the last one, and we would act on another cluster.

    Raises:
        NotConfigured: none exists, one is not a kubeconfig, or together they lack the API server or the
            credentials of `context` (None: the current one).

    """
    paths = [_expanded(path) for path in files.split(os.pathsep) if path]
    found = [path for path in paths if _exists(path)]
    if not found:
        raise _unusable(files, "there is no such file")
    listed = os.pathsep.join(map(str, found))
    contents = [_read(path) for path in found]
    name = context or _current_context(contents)
    why = _lacks(contents, name, is_current=not context)
    if why:
        raise _unusable(listed, why)
    return Usable(listed, name)


def _expanded(path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError as error:  # ~with an unknown user name
        raise _unusable(path, str(error)) from error


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:  # a folder without access
        raise _unusable(path, error.strerror or type(error).__name__) from error


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
    return content


def _current_context(contents: list[Content]) -> str:
    return next(
        (str(content["current-context"]) for content in contents if content.get("current-context")), ""
    )


def _lacks(contents: list[Content], name: str, *, is_current: bool) -> str:
    """The first part that the files together lack; "" if they are complete."""
    if not name:
        return "it has no current-context"
    entry = _named(contents, "context", name)
    if entry is None:
        return f"it has no context {name!r}{', which its current-context names' if is_current else ''}"
    return _lacks_of_context(contents, name, entry)


def _lacks_of_context(contents: list[Content], name: str, entry: Content) -> str:
    cluster, user = entry.get("cluster"), entry.get("user")
    if not cluster:
        return f"its context {name!r} names no cluster"
    settings = _named(contents, "cluster", cluster)
    if settings is None:
        return f"its context {name!r} names the cluster {cluster!r}, which it does not have"
    if not _is_address(str(settings.get("server", ""))):
        return f"its cluster {cluster!r} has no server that is an address with https://"
    if not user:
        return f"its context {name!r} names no user"
    if _named(contents, "user", user) is None:
        return f"its context {name!r} names the user {user!r}, which it does not have"
    return ""


def _is_address(server: str) -> bool:
    try:
        parts = urlsplit(server)
    except ValueError:  # "[" without "]"
        return False
    return parts.scheme in {"https", "http"} and bool(parts.hostname)


def _named(contents: Iterable[Content], kind: str, name: str) -> Content | None:
    """The first cluster, context or user of that name."""
    for content in contents:
        listed = content.get(f"{kind}s")
        for entry in listed if isinstance(listed, list) else []:
            if isinstance(entry, dict) and entry.get("name") == name:
                value = entry.get(kind)
                return value if isinstance(value, dict) else {}
    return None


Load = Callable[[Configuration], Awaitable[None]]
"""Reads server and credentials into a Configuration; called again when the credentials are refused."""

_SCHEME = "BearerToken"  # what the library calls the Authorization header

# Exceptions that the library lets through for an incomplete or invalid kubeconfig.
_UNREADABLE = (ConfigException, OSError, AttributeError, KeyError, TypeError, ValueError)


def loader(kubeconfig: str | None, context: str | None) -> Load:
    """The source: the given file, else $KUBECONFIG, else ~/.kube/config, else the Pod's service account."""
    files = kubeconfig or os.environ.get("KUBECONFIG") or _default_file()
    return _from_kubeconfig(files, context) if files else _from_service_account


async def configure(load: Load) -> Configuration:
    """A Configuration without retries, which are left to the caller.

    Raises NotConfigured: there is no source, or it cannot be read.
    """
    configuration = without_retries()
    await load(configuration)
    use_proxy(configuration)
    return configuration


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
    configuration.proxy = configuration.proxy or _proxy_for(configuration.host)


def use_token(configuration: Configuration, token: str) -> None:
    """Send this token from now on; "" means none."""
    configuration.api_key = {_SCHEME: f"Bearer {token}"} if token else {}


def _default_file() -> str:
    file = Path.home() / ".kube" / "config"
    try:
        return str(file) if file.exists() else ""
    except OSError:  # a folder without access; reading it reports that
        return str(file)


def _from_kubeconfig(files: str, context: str | None) -> Load:
    async def load(configuration: Configuration) -> None:
        found = usable(files, context)
        try:
            await load_kube_config(  # type: ignore[no-untyped-call]  # the library has no types
                config_file=found.files,
                context=found.context,
                client_configuration=configuration,
                persist_config=False,
            )
        except yaml.YAMLError:  # changed meanwhile; the error quotes the line, maybe a token
            raise NotConfigured(
                f"The kubeconfig {found.files} cannot be used: it is not valid YAML."
            ) from None
        except _UNREADABLE as error:
            raise NotConfigured(f"The kubeconfig {found.files} cannot be used: {error}") from error
        _strip_token(configuration)

    return load


async def _from_service_account(configuration: Configuration) -> None:
    try:
        load_incluster_config(configuration)  # type: ignore[no-untyped-call]  # the library has no types
    except _UNREADABLE as error:
        raise NotConfigured(
            f"No kubeconfig was given or found, and there is no service account of a Pod: {error}"
        ) from error


def _strip_token(configuration: Configuration) -> None:
    # Token files commonly end in a newline, which no HTTP header may contain.
    if _SCHEME in configuration.api_key:
        configuration.api_key[_SCHEME] = configuration.api_key[_SCHEME].strip()


def _proxy_for(server: str) -> str | None:
    # Not aiohttp's trust_env: it would read ~/.netrc before each request, and fail on invalid content.
    url = urlsplit(server)
    host = url.hostname or ""
    proxies = getproxies()
    if _is_loopback(host) or proxy_bypass(host) or _is_in_networks(host, proxies.get("no", "")):
        return None
    return proxies.get(url.scheme)


def _is_in_networks(host: str, no_proxy: str) -> bool:
    """True if NO_PROXY has a network with that address, as in Go; Python supports only names."""
    return any(_is_in(host, entry.strip()) for entry in no_proxy.split(","))


def _is_in(host: str, network: str) -> bool:
    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:
        return False


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
