"""PayloadCodec: what stands between our values and what Temporal keeps of them (ADR 32).

With a key that encrypts, whatever we give to Temporal is encrypted as a whole: arguments, results, memos,
summaries, and messages and stack traces of failures. What is not encrypted is read as it is, so that it can
be turned on and off while workflows are open. The form is that of Temporal's own samples: their codec servers
read it.
"""

import dataclasses
import os
from collections.abc import Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from google.protobuf.message import DecodeError
from temporalio.api.common.v1 import Payload
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.converter import (
    DataConverter,
    DefaultFailureConverterWithEncodedAttributes,
    PayloadCodec,
)

from runtime.payload_keys import PayloadKeys
from runtime.settings import PAYLOAD_KEYS_VARIABLE

ENCRYPTED = b"binary/encrypted"
KEY_ID = "encryption-key-id"
_NONCE_BYTES = 12


class UnreadablePayload(RuntimeError):
    """A payload is encrypted with a key that we do not have; names the key, in one sentence."""


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
            return payload
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
    return dataclasses.replace(converter, payload_codec=codec, failure_converter_class=failures)
