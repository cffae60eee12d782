"""Ports for the servers of a test."""

import secrets

from devcluster.layout import FIRST_PORT, PORT_COUNT, is_free


def free_port() -> int:
    """A port of the loopback interface on which no server listens now.

    It is below the range of ephemeral ports. An outgoing connection of any process could take a port of that
    range before the server listens, or while it restarts.
    """
    while not is_free(port := FIRST_PORT + secrets.randbelow(PORT_COUNT)):
        pass
    return port
