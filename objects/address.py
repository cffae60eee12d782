"""Address: the `host:port` of a listener or a server."""

from dataclasses import dataclass
from ipaddress import ip_address
from typing import Self

LARGEST_PORT = 65535


@dataclass(frozen=True)
class Address:
    """A host and a port; an empty host means every IPv4 and IPv6 address of this machine."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `text`; IPv6 addresses are in brackets.

        Raises:
            ValueError: it is not host:port.

        """
        host, colon, port = text.strip().rpartition(":")
        bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
        if not colon or (":" in host and bare == host) or not (port.isascii() and port.isdecimal()):
            raise ValueError(f"{text!r} is not host:port")
        if not 1 <= int(port) <= LARGEST_PORT:
            raise ValueError(f"{text!r} has no port from 1 to {LARGEST_PORT}")
        return cls(bare, int(port))


def is_loopback(host: str) -> bool:
    """True for a host of this machine alone; an IPv6 address may be in brackets.

    Names below `localhost` never leave the machine either (RFC 6761).
    """
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.rstrip(".").lower().split(".")[-1] == "localhost"
