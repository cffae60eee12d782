"""What a directory that everything is kept in must be: there, or to be made, and written to."""

import os
import tempfile
from pathlib import Path

from devcluster.errors import SettingsError
from devcluster.simulation.control_socket import CONTROL_SOCKET

LONGEST_SOCKET_PATH = 103
"""Bytes: what macOS takes; Linux takes 107. A longer path is no address."""


def prepare(directory: Path) -> None:
    """Make `directory` if need be, and see that it can be used.

    Raises SettingsError when it cannot.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return
    except OSError as error:
        raise SettingsError(f"--dir {directory} cannot be used: {error.strerror}") from error


def require_room_for_socket(directory: Path) -> None:
    """Raise SettingsError when the path is too long for the socket of the simulated kubelets."""
    room = LONGEST_SOCKET_PATH - len(os.fsencode(f"/{CONTROL_SOCKET}"))
    length = len(os.fsencode(directory.absolute()))
    if length > room:
        raise SettingsError(
            f"--dir {directory} is too long for simulated nodes: "
            f"their socket leaves room for {room} bytes, and its path has {length}"
        )
