"""Free loopback ports, remembered, so that a restart on the same directory is found at the same address.

They come from below the range from which the kernel takes the ports of outgoing connections: a port
from that range can be taken by any client in the moment in which its server is down.
"""

import json
import secrets
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path

from devcluster.files import write_json

FIRST = 20_000
COUNT = 12_000


def is_free(port: int) -> bool:
    """Whether a server could listen there now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def allocate(file: Path, names: Iterable[str]) -> Mapping[str, int]:
    """One free port per name: the one that `file` remembers, or a new one where that is taken."""
    remembered: dict[str, int] = json.loads(file.read_text()) if file.exists() else {}
    for name in names:
        if name not in remembered or not is_free(remembered[name]):
            remembered[name] = _choose(taken=remembered.values())
    write_json(file, remembered)
    return remembered


def _choose(taken: Iterable[int]) -> int:
    while (port := FIRST + secrets.randbelow(COUNT)) in taken or not is_free(port):
        pass
    return port
