"""Finds the API server and our credentials: by a kubeconfig, else by the service account of the Pod.

The library reads the files and runs credential plugins; we choose the file and the proxy, and name the file
in errors. Only this module of the package reads the environment.
"""

import os
from collections.abc import Awaitable, Callable
from ipaddress import ip_address, ip_network
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import yaml
from kubernetes.aio.client import Configuration
from kubernetes.aio.config import ConfigException, load_incluster_config, load_kube_config

from kube.errors import NotConfigured
from kube.kubeconfig import usable

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
