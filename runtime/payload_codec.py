"""PayloadCodec: what stands between our values and what Temporal keeps of them (ADR 32).

With a key that encrypts, whatever we give to Temporal is encrypted as a whole: arguments, results, memos,
summaries, and messages and stack traces of failures. What is not encrypted is read as it is, so that it can
be turned on and off while workflows are open; or it is refused (`requireEncryption`). The form is that of
Temporal's own samples: their codec servers read it.

A refused payload is an error where its value is asked for, and not in the codec: there it would fail the
whole task of a workflow, again and again. So the SDK drops a signal, rejects an update and fails an activity
with such an argument, and goes on.
"""

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from google.protobuf.message import DecodeError
from temporalio.api.common.v1 import Payload
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.converter import (
    DataConverter,
    DefaultFailureConverterWithEncodedAttributes,
    PayloadCodec,
    PayloadConverter,
)

from runtime.payload_keys import PayloadKeys
from runtime.settings import PAYLOAD_KEYS_VARIABLE

ENCRYPTED = b"binary/encrypted"
REFUSED = b"binary/refused"
"""Stands for what is not encrypted, and ought to be; nothing of it is handed on."""
KEY_ID = "encryption-key-id"
_NONCE_BYTES = 12
_NOT_ENCRYPTED = (
    f"a payload in Temporal is not encrypted, and requireEncryption in the file of {PAYLOAD_KEYS_VARIABLE} "
    "refuses it"
)


class UnreadablePayload(RuntimeError):
    """A payload cannot be decrypted, or is not encrypted and must be; names the key or the field."""


class EncryptionCodec(PayloadCodec):
    """Encrypts with the first key, and decrypts with whichever key a payload names."""

    def __init__(self, keys: PayloadKeys) -> None:
        self._keys = keys

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """The payloads as Temporal keeps them."""
        name = self._keys.encrypting
        cipher = self._keys.get(name) if name is not None else None
        if name is None or cipher is None:
            return list(payloads)
        return [_encrypted(payload, name, cipher) for payload in payloads]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """The payloads as they were before.

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
            raise UnreadablePayload(
                f"what Temporal keeps is encrypted with the key {name!r}, {self._without()}"
            )
        nonce, data = payload.data[:_NONCE_BYTES], payload.data[_NONCE_BYTES:]
        try:
            return Payload.FromString(cipher.decrypt(nonce, data, None))
        except (InvalidTag, ValueError, DecodeError) as error:
            why = f"and that of this name in the file of {PAYLOAD_KEYS_VARIABLE} does not fit"
            raise UnreadablePayload(
                f"what Temporal keeps is encrypted with the key {name!r}, {why}"
            ) from error

    def _without(self) -> str:
        if not self._keys:
            return f"and {PAYLOAD_KEYS_VARIABLE} is not set"
        return f"which the file of {PAYLOAD_KEYS_VARIABLE} lacks"


def _encrypted(payload: Payload, name: str, cipher: AESGCM) -> Payload:
    nonce = os.urandom(_NONCE_BYTES)
    data = nonce + cipher.encrypt(nonce, payload.SerializeToString(), None)
    return Payload(metadata={"encoding": ENCRYPTED, KEY_ID: name.encode()}, data=data)


def with_keys(keys: PayloadKeys, converter: DataConverter = pydantic_data_converter) -> DataConverter:
    """`converter`, with these keys; without any it still says of what is encrypted what is missing."""
    codec = EncryptionCodec(keys)
    if keys.encrypting is None:
        return dataclasses.replace(converter, payload_codec=codec)
    # Else messages of failures, which quote API servers, would stay readable.
    failures = DefaultFailureConverterWithEncodedAttributes
    encrypting = dataclasses.replace(converter, payload_codec=codec, failure_converter_class=failures)
    if not keys.requires_encryption:
        return encrypting
    refusing = _refusing(converter.payload_converter_class)
    return dataclasses.replace(encrypting, payload_converter_class=refusing)


def _refusing(converter: type[PayloadConverter]) -> type[PayloadConverter]:
    """The same converter, for which a refused payload is an error."""

    # A class, as the SDK makes an object of it for each workflow.
    class Refusing(converter):  # type: ignore[misc, valid-type]
        def from_payloads(
            self, payloads: Sequence[Payload], type_hints: list[type] | None = None
        ) -> list[Any]:
            if any(payload.metadata.get("encoding") == REFUSED for payload in payloads):
                raise UnreadablePayload(_NOT_ENCRYPTED)
            values: list[Any] = super().from_payloads(payloads, type_hints)
            return values

    return Refusing
