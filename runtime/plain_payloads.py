"""PROCESS_DATA: the data converter of our processes, whose errors name field and value in plain words.

People start workflows from the Temporal UI and read its error about a wrong value. Temporal stores the error.
An incident and an upgrade pause read their orders themselves (`workflows.orders`).
"""

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError
from temporalio.api.common.v1 import Payload
from temporalio.contrib.pydantic import PydanticPayloadConverter
from temporalio.converter import DataConverter

from objects.field_problem import FieldProblem


class InvalidPayload(ValueError):
    """A payload does not fit the type of its value; the message names the field and the value."""


_NOTHING = b"binary/null"
"""The encoding of `None` by a client of Python, and of nil by one of Go. The SDK decodes it as any type."""
_NULL = Payload(metadata={"encoding": b"json/plain"}, data=b"null")


class ProcessPayloadConverter(PydanticPayloadConverter):
    """The converter of the SDK for pydantic, with errors of ours."""

    def from_payloads(self, payloads: Sequence[Payload], type_hints: list[type] | None = None) -> list[Any]:
        """Decode payloads.

        Raises:
            InvalidPayload: one does not fit its type.

        """
        checked = [_NULL if payload.metadata.get("encoding") == _NOTHING else payload for payload in payloads]
        try:
            return super().from_payloads(checked, type_hints)
        except ValidationError as error:
            raise InvalidPayload(str(FieldProblem.of(error))) from None  # causes are stored, too


PROCESS_DATA = DataConverter(payload_converter_class=ProcessPayloadConverter)
