"""Address: where to listen, as `host:port`."""

from dataclasses import dataclass
from typing import Self

LARGEST_PORT = 65535


@dataclass(frozen=True)
class Address:
    """A host and a port. An empty host is every address of this machine, of IPv4 and of IPv6."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """The address that `text` says; IPv6 stands in brackets.

        Raises:
            ValueError: it says none.

        """
        host, colon, port = text.strip().rpartition(":")
        bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
        if not colon or (":" in host and bare == host) or not (port.isascii() and port.isdecimal()):
            raise ValueError(f"{text!r} is not host:port")
        if not 1 <= int(port) <= LARGEST_PORT:
            raise ValueError(f"{text!r} has no port from 1 to {LARGEST_PORT}")
        return cls(bare, int(port))
