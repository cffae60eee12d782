"""Checks, texts and times of an upgrade pause that take as many bytes as they legally can."""

import random
from datetime import UTC, datetime, timedelta

from temporalio.contrib.pydantic import pydantic_data_converter

from health.model.references import CheckReference
from health.upgrade.pausable_check import PausableCheck
from objects.short_text import LONGEST_TEXT

BLOB_LIMIT = 2 * 1024 * 1024
"""Above it Temporal fails what sends the payload."""
BLOB_WARNING = 256 * 1024
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
DIFFICULT = 'ä€😀\\"\n' + LETTERS
LONGEST_NAME, LONGEST_NAMESPACE, LONGEST_IDENTITY = 253, 63, 36


class Longest:
    """Values that no compression makes short: random ones, always the same."""

    def __init__(self) -> None:
        self._random = random.Random(1)  # noqa: S311  no secret

    def text(self, letters: str, length: int) -> str:
        return "".join(self._random.choices(letters, k=length))

    def words(self) -> str:
        return self.text(DIFFICULT, LONGEST_TEXT)

    def uid(self) -> str:
        return self.text("0123456789abcdef", LONGEST_IDENTITY)

    def time(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(microseconds=self._random.randrange(10**13))

    def check(self) -> PausableCheck:
        namespace, name = self.text(LETTERS, LONGEST_NAMESPACE), self.text(LETTERS, LONGEST_NAME)
        return PausableCheck(
            reference=CheckReference(kind="MachineHealthCheck", namespace=namespace, name=name),
            uid=self.uid(),
            created=datetime(2026, 1, 1, tzinfo=UTC),
        )

    def checks(self, count: int) -> list[PausableCheck]:
        return [self.check() for _ in range(count)]


def payload_bytes(value: object) -> int:
    """Of the payload that Temporal is sent."""
    (payload,) = pydantic_data_converter.payload_converter.to_payloads([value])
    return payload.ByteSize()
