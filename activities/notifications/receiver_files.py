"""ReceiverFiles: the addresses and tokens of receivers, in files that are mounted from a Secret.

A file is read for each request, so an edit of the Secret needs no restart.
"""

import asyncio
from pathlib import Path

from activities.notifications.delivery_failure import DeliveryFailure, DeliveryProblem

MOST_CHARACTERS = 8192


class ReceiverFiles:
    """The files in one directory, each with one address or token."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def read(self, name: str) -> str:
        """The single line in the file.

        Raises:
            DeliveryFailure: there is no such file, or it has not one line of printable ASCII.

        """
        try:
            text = await asyncio.to_thread(self._text, name)
        except (OSError, ValueError) as error:
            reason = type(error).__name__ if isinstance(error, ValueError) else error.strerror
            raise self._failure(name, f"cannot be read: {reason}") from None
        if not text.isascii() or not text.isprintable() or not text or " " in text:
            raise self._failure(name, "must have one line of ASCII without spaces")
        if len(text) > MOST_CHARACTERS:
            raise self._failure(name, f"has more than {MOST_CHARACTERS} characters")
        return text

    def _text(self, name: str) -> str:
        with (self._directory / name).open(encoding="utf-8") as file:
            return file.read(MOST_CHARACTERS + 2).strip()

    def _failure(self, name: str, why: str) -> DeliveryFailure:
        return DeliveryFailure(DeliveryProblem.FILE_UNREADABLE, f"the file {name} in {self._directory} {why}")
