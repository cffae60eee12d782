"""Findings about a connection to Temporal without TLS and credentials. Pure.

Without them Temporal accepts any client, and a client that may write to the namespace can stop remediation,
or have unhealthy targets remediated out of turn (docs/security.md).
"""

from ipaddress import ip_address

from temporalio.envconfig import ClientConnectConfig

from cli.doctor.finding import Finding, warning
from runtime.address import Address

_GUIDE = "see docs/security.md"


def protection_findings(config: ClientConnectConfig) -> list[Finding]:
    """Findings about a connection with these settings, which are valid."""
    address = config["target_host"]
    metadata = {name.lower() for name in config.get("rpc_metadata") or {}}
    has_credentials = bool(config.get("api_key")) or "authorization" in metadata
    if config.get("tls") or has_credentials or _is_loopback(Address.parse(address).host):
        return []
    what = f"Temporal at {address} is asked without TLS and without credentials"
    advice = (
        "each client that reaches it can order remediations and end them: "
        f"set TEMPORAL_TLS_… or TEMPORAL_API_KEY, {_GUIDE}"
    )
    return [warning("TemporalUnprotected", what, advice)]


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.rstrip(".").lower().split(".")[-1] == "localhost"
