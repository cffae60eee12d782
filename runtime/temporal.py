"""Connects to Temporal by its standard environment configuration, with our data converter.

The SDK accepts many invalid values of that configuration: the connection then fails with a misleading error,
or goes to the wrong place. So the configuration is validated before any connection.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from temporalio.client import Client, GrpcCompression, Interceptor
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.converter import DataConverter
from temporalio.envconfig import ClientConfig, ClientConnectConfig
from temporalio.runtime import Runtime
from temporalio.service import RPCError, TLSConfig

from objects.address import Address
from runtime.settings import SettingsError
from runtime.temporal_trouble import setting_at_fault, unconnected

PREFIX = "TEMPORAL_"
FILE = f"{PREFIX}CONFIG_FILE"
DEFAULT_ADDRESS = "localhost:7233"
DEFAULT_NAMESPACE = "default"
CONNECT_SECONDS = 10.0
_BOOLEANS = ("true", "false", "1", "0")
"""The SDK takes every other word for true, also `no` and `off`."""


def temporal_settings(environment: Mapping[str, str] | None) -> ClientConnectConfig:
    """The Temporal configuration in `environment` (None: that of this process).

    Raises:
        SettingsError: it is invalid.

    """
    variables = _checked_variables(os.environ if environment is None else environment)
    config = _load(variables)
    config.setdefault("target_host", DEFAULT_ADDRESS)
    _check(config, variables)
    return config


def temporal_namespace(environment: Mapping[str, str] | None) -> str:
    """The Temporal namespace in `environment`; raises SettingsError as `temporal_settings`."""
    return temporal_settings(environment).get("namespace") or DEFAULT_NAMESPACE


def named(setting: str, environment: Mapping[str, str] | None) -> str:
    """The source of a setting for errors: the variable that begins with its name, or the profile."""
    variables = os.environ if environment is None else environment
    found = sorted(name for name in variables if name.startswith(setting))
    return found[0] if found else f"{setting.removeprefix(PREFIX).lower()} of Temporal's profile"


def _checked_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of Temporal; others are irrelevant."""
    found = {name: value for name, value in environment.items() if name.startswith(PREFIX)}
    for name, value in found.items():
        try:
            found[name] = in_utf8(value)
        except UnicodeError as error:
            raise SettingsError(f"{name}: is not UTF-8") from error
    file, tls = found.get(FILE), found.get("TEMPORAL_TLS")
    try:
        if file:
            Path(file).read_bytes()  # the SDK ignores a missing file
    except OSError as error:
        raise SettingsError(f"{FILE}: {file}: {error.strerror}") from error
    if tls is not None and tls.lower() not in _BOOLEANS:
        raise SettingsError(f"TEMPORAL_TLS: {tls!r} is not one of {', '.join(_BOOLEANS)}")
    return found


def _load(variables: Mapping[str, str]) -> ClientConnectConfig:
    try:
        return ClientConfig.load_client_connect_config(override_env_vars=variables)
    except RuntimeError as error:
        # The file is invalid, or lacks the profile. The SDK quotes it, so its error is no cause of ours.
        file = variables.get(FILE) or "Temporal's usual configuration file"
        profile, why = variables.get("TEMPORAL_PROFILE"), _why(error)
        try:
            profiles = ClientConfig.load(override_env_vars=variables).profiles
        except RuntimeError as invalid:
            raise SettingsError(f"{FILE}: {file} cannot be used: {_why(invalid)}") from None
        if profile and profile not in profiles:
            there = f"there are {', '.join(sorted(profiles))}" if profiles else "there is none"
            raise SettingsError(f"TEMPORAL_PROFILE: no profile {profile!r} in {file}, {there}") from None
        raise SettingsError(f"Temporal's configuration cannot be used: {why}") from None
    except OSError as error:  # a file in the configuration
        named_by = [name for name, value in variables.items() if value == str(error.filename)]
        setting = named_by[0] if named_by else "Temporal's configuration cannot be used"
        raise SettingsError(f"{setting}: {error.filename}: {error.strerror}") from error


def _why(error: RuntimeError) -> str:
    """The error without the lines of the file in its middle: they may contain a key."""
    first, *lines = str(error).removeprefix("Configuration loading error: ").strip().splitlines()
    return f"{first}: {lines[-1]}" if lines else first


def _check(config: ClientConnectConfig, variables: Mapping[str, str]) -> None:
    try:
        Address.parse(config["target_host"])
    except ValueError as error:
        raise SettingsError(f"{named('TEMPORAL_ADDRESS', variables)}: {error}") from error
    if config.get("namespace") == "":
        raise SettingsError(f"{named('TEMPORAL_NAMESPACE', variables)}: must not be empty")
    tls = config.get("tls")
    if not isinstance(tls, TLSConfig):
        return
    certificate, key = (
        (tls.client_cert, "TEMPORAL_TLS_CLIENT_CERT"),
        (tls.client_private_key, "TEMPORAL_TLS_CLIENT_KEY"),
    )
    for (content, setting), (other, other_setting) in ((certificate, key), (key, certificate)):
        if content and not other:
            needs = f"needs {other_setting}_PATH or {other_setting}_DATA beside it"
            raise SettingsError(f"{named(setting, variables)}: {needs}")
    trusted = tls.server_root_ca_cert
    if trusted is not None and b"-----BEGIN CERTIFICATE-----" not in trusted:
        raise SettingsError(f"{named('TEMPORAL_TLS_SERVER_CA_CERT', variables)}: holds no certificate")


async def connect(
    identity: str | None = None,
    environment: Mapping[str, str] | None = None,
    runtime: Runtime | None = None,
    converter: DataConverter = pydantic_data_converter,
    interceptors: Sequence[Interceptor] = (),
) -> Client:
    """Connect to Temporal once, as configured in `environment` (None: that of this process).

    Raises:
        SettingsError: the configuration is invalid.
        TemporalUnreachable: Temporal is down, or refuses.

    """
    config = temporal_settings(environment)
    address = config["target_host"]
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            return await Client.connect(
                **config,
                identity=identity,
                data_converter=converter,
                runtime=runtime,
                interceptors=interceptors,
                grpc_compression=GrpcCompression.NONE,
            )
    except ValueError as error:
        setting = named("TEMPORAL_ADDRESS", environment)
        raise SettingsError(f"{setting}: {address!r} cannot be used: {error}") from error
    except TimeoutError as error:
        raise unconnected(address, TimeoutError(f"no answer within {CONNECT_SECONDS:g} s")) from error
    except (RPCError, RuntimeError, OSError) as error:  # RuntimeError: a failed connection
        if fault := setting_at_fault(error):
            raise SettingsError(f"{named(fault.setting, environment)}: {fault.what}") from error
        raise unconnected(address, error) from error


def address_of(client: Client) -> str:
    return client.service_client.config.target_host


def in_utf8(text: str) -> str:
    """`text` decoded from its bytes; Python represents bytes that its locale cannot decode as surrogates.

    Raises:
        UnicodeError: the bytes are not UTF-8.

    """
    return text.encode(errors="surrogateescape").decode()
