"""The data converters of our processes, which encrypt the payloads that Temporal stores (ADR 32).

With an encrypting key, every payload is encrypted as a whole: arguments, results, memos, summaries, and
messages and stack traces of failures. Plain payloads are read as they are, so that encryption can be turned
on and off while workflows are open; or they are refused (`requireEncryption`). The format is that of
Temporal's samples, whose codec servers can read it.

A refused payload raises where its value is read, not in the codec: there it would fail the whole workflow
task, again and again. So the SDK drops a signal, rejects an update or fails an activity with such an
argument, and continues.

Our processes decode with PROCESS_DATA, whose errors name field and value in plain words: people start
workflows from the Temporal UI and read its error about a wrong value, which Temporal stores. An incident and
an upgrade pause read their orders themselves (`workflows.orders`).
"""

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

from cryptography.exceptions import InvalidTag
from google.protobuf.message import DecodeError
from pydantic import ValidationError
from temporalio.api.common.v1 import Payload
from temporalio.contrib.pydantic import PydanticPayloadConverter, pydantic_data_converter
from temporalio.converter import (
    DataConverter,
    DefaultFailureConverterWithEncodedAttributes,
    PayloadCodec,
    PayloadConverter,
)

from objects.field_problem import FieldProblem
from runtime.payload_keys import PayloadKeys
from runtime.settings import PAYLOAD_KEYS_VARIABLE

ENCRYPTED = b"binary/encrypted"
REFUSED = b"binary/refused"
"""Replaces a plain payload that must not be used; it has no content."""
KEY_ID = "encryption-key-id"
_NONCE_BYTES = 12
_NOT_ENCRYPTED = (
    f"a payload in Temporal is not encrypted, and requireEncryption in the file of {PAYLOAD_KEYS_VARIABLE} "
    "refuses it"
)


class UnreadablePayload(RuntimeError):
    """A payload cannot be decrypted, or is plain and must not be; the message names the key or field."""


class EncryptionCodec(PayloadCodec):
    """Encrypts with the first key, and decrypts with the key that a payload names."""

    def __init__(self, keys: PayloadKeys) -> None:
        self._keys = keys

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        name = self._keys.encrypting
        cipher = self._keys.get(name) if name is not None else None
        if name is None or cipher is None:
            return list(payloads)

        def encrypted(payload: Payload) -> Payload:
            nonce = os.urandom(_NONCE_BYTES)
            data = nonce + cipher.encrypt(nonce, payload.SerializeToString(), None)
            return Payload(metadata={"encoding": ENCRYPTED, KEY_ID: name.encode()}, data=data)

        return [*map(encrypted, payloads)]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """The payloads as they were before `encode`.

        Raises:
            UnreadablePayload: one cannot be decrypted.

        """
        return [self._decoded(payload) for payload in payloads]

    def _decoded(self, payload: Payload) -> Payload:
        if payload.metadata.get("encoding") != ENCRYPTED:
            return Payload(metadata={"encoding": REFUSED}) if self._keys.requires_encryption else payload
        name = payload.metadata.get(KEY_ID, b"").decode(errors="replace")
        cipher = self._keys.get(name)
        if cipher is None:
            lacks = f"which the file of {PAYLOAD_KEYS_VARIABLE} lacks"
            why = lacks if self._keys else f"and {PAYLOAD_KEYS_VARIABLE} is not set"
            raise UnreadablePayload(f"a payload in Temporal is encrypted with the key {name!r}, {why}")
        nonce, data = payload.data[:_NONCE_BYTES], payload.data[_NONCE_BYTES:]
        try:
            return Payload.FromString(cipher.decrypt(nonce, data, None))
        except (InvalidTag, ValueError, DecodeError) as error:
            why = f"and that of this name in the file of {PAYLOAD_KEYS_VARIABLE} does not fit"
            raise UnreadablePayload(
                f"a payload in Temporal is encrypted with the key {name!r}, {why}"
            ) from error


def with_keys(keys: PayloadKeys, converter: DataConverter = pydantic_data_converter) -> DataConverter:
    """`converter` with these keys; without any, its errors still name the missing key."""
    codec = EncryptionCodec(keys)
    if keys.encrypting is None:
        return dataclasses.replace(converter, payload_codec=codec)
    # Otherwise messages of failures, which quote API servers, would stay readable.
    failures = DefaultFailureConverterWithEncodedAttributes
    encrypting = dataclasses.replace(converter, payload_codec=codec, failure_converter_class=failures)
    if not keys.requires_encryption:
        return encrypting
    refusing = _refusing(converter.payload_converter_class)
    return dataclasses.replace(encrypting, payload_converter_class=refusing)


def _refusing(converter: type[PayloadConverter]) -> type[PayloadConverter]:
    """The same converter, which raises for refused payloads."""

    # A class, because the SDK creates an object of it for each workflow.
    class Refusing(converter):  # type: ignore[misc, valid-type]
        def from_payloads(
            self, payloads: Sequence[Payload], type_hints: list[type] | None = None
        ) -> list[Any]:
            if any(payload.metadata.get("encoding") == REFUSED for payload in payloads):
                raise UnreadablePayload(_NOT_ENCRYPTED)
            values: list[Any] = super().from_payloads(payloads, type_hints)
            return values

    return Refusing


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
