"""The data converters of our processes, which encrypt the payloads that Temporal stores (ADR 32).

With an encrypting key, every payload is encrypted as a whole: arguments, results, memos, summaries, and
messages and stack traces of failures. Plain payloads are read as they are, so that encryption can be turned
on and off while workflows are open; or they are refused (`requireEncryption`). The format is that of
Temporal's samples, whose codec servers can read it.

A refused payload raises where its value is read, not in the codec: there it would fail the whole workflow
task, again and again. So the SDK drops a signal, rejects an update or fails an activity with such an
argument, and continues.

The keys are in a file that a Secret is mounted as. As in the EncryptionConfiguration of Kubernetes, the first
key encrypts, and each key decrypts the payloads that name it. With `requireEncryption`, plain payloads are
refused, so that the keys authenticate (ADR 42). Errors about the file name its setting and field, and never a
value: any value may be a key.

Our processes decode with PROCESS_DATA, whose errors name field and value in plain words: people start
workflows from the Temporal UI and read its error about a wrong value, which Temporal stores. An incident and
an upgrade pause read their orders themselves (`workflows.orders`).
"""

import dataclasses
import os
from base64 import b64decode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from google.protobuf.message import DecodeError
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError
from temporalio.api.common.v1 import Payload
from temporalio.contrib.pydantic import PydanticPayloadConverter, pydantic_data_converter
from temporalio.converter import (
    CompositePayloadConverter,
    DataConverter,
    DefaultFailureConverterWithEncodedAttributes,
    PayloadCodec,
)

from objects.bounds import FailFast
from objects.field_problem import FieldProblem, dotted
from objects.patterns import matching
from objects.yaml_document import LONGEST, NoDocumentError, read_document
from runtime.settings import PAYLOAD_KEYS_VARIABLE, SettingsError

ENCRYPTED = b"binary/encrypted"
REFUSED = b"binary/refused"
"""Replaces a plain payload that must not be used; it has no content."""
KEY_ID = "encryption-key-id"
_NONCE_BYTES = 12
_NOT_ENCRYPTED = (
    f"a payload in Temporal is not encrypted, and requireEncryption in the file of {PAYLOAD_KEYS_VARIABLE} "
    "refuses it"
)
_NOTHING = b"binary/null"
"""The encoding of `None` by a client of Python, and of nil by one of Go. The SDK decodes it as any type."""
_NULL = Payload(metadata={"encoding": b"json/plain"}, data=b"null")
KEY_BYTES = 32
_KEY_NAME = matching(
    r"[A-Za-z0-9][A-Za-z0-9._-]*",
    "must be letters, digits, '.', '_' and '-', and begin with a letter or digit",
)


def _cipher(secret: object) -> AESGCM:
    try:
        key = b64decode(secret, validate=True) if isinstance(secret, str) else b""
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        kind, sentence = "key", f"must be {KEY_BYTES} bytes in base64"
        raise PydanticCustomError(kind, sentence)
    return AESGCM(key)


class _Entry(FailFast, BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    name: Annotated[str, Field(max_length=63), _KEY_NAME]
    secret: Annotated[AESGCM, BeforeValidator(_cipher)]


class _File(FailFast, BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    encrypt: bool = True
    require_encryption: bool = Field(default=False, alias="requireEncryption")
    keys: Annotated[tuple[_Entry, ...], Field(min_length=1, strict=False)]


class PayloadKeys:
    """The keys of one process, for its whole life; without any, nothing is encrypted."""

    def __init__(
        self, ciphers: Mapping[str, AESGCM], *, encrypts: bool = True, requires_encryption: bool = False
    ) -> None:
        """`ciphers` by the names of their keys; the first one encrypts, unless `encrypts` is False."""
        self._ciphers = dict(ciphers)
        self.encrypting = next(iter(self._ciphers), None) if encrypts else None
        """The name of the encrypting key; None if there is none."""
        self.requires_encryption = requires_encryption
        """True if plain payloads are refused."""

    @classmethod
    def read(cls, path: str | None) -> Self:
        """The keys in the file at `path`; None means no keys.

        Raises:
            SettingsError: the file is invalid.

        """
        if path is None:
            return cls({})
        if not path:
            raise SettingsError(f"{PAYLOAD_KEYS_VARIABLE}: must not be empty")
        # `from None`: errors of the parsers quote the file.
        try:
            with Path(path).open("rb") as file:
                entries = _File.model_validate(read_document(file.read(LONGEST + 1)))
        except OSError as error:
            raise _wrong(path, str(error.strerror)) from error
        except NoDocumentError as error:
            raise _wrong(path, str(error)) from None
        except ValidationError as error:
            details = error.errors(include_url=False, include_input=False)[0]
            problem = FieldProblem.of_details(details, longest_value=0)
            if details["type"] == "extra_forbidden":  # the name could be a secret
                field, words = dotted(details["loc"][:-1]), "has a field that is not known"
                problem = FieldProblem(field=field, words=words)
            whole = "must have `keys`, a list with the `name` and the `secret` of each"
            raise _wrong(path, whole if problem.field in {"", "keys"} else str(problem)) from None
        ciphers = {entry.name: entry.secret for entry in entries.keys}
        names = [entry.name for entry in entries.keys]
        if double := next((name for name in names if names.count(name) > 1), None):
            raise _wrong(path, f"keys: two are called {double!r}")
        if entries.require_encryption and not entries.encrypt:
            raise _wrong(path, "requireEncryption: needs encrypt: true, or we would refuse our own payloads")
        return cls(ciphers, encrypts=entries.encrypt, requires_encryption=entries.require_encryption)

    def __bool__(self) -> bool:
        return bool(self._ciphers)

    def get(self, name: str) -> AESGCM | None:
        return self._ciphers.get(name)


def _wrong(path: str, why: str) -> SettingsError:
    return SettingsError(f"{PAYLOAD_KEYS_VARIABLE}: {path}: {why}")


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
    payload_converter = converter.payload_converter_class

    # A class, because the SDK creates an object of it for each workflow.
    class Refusing(payload_converter):  # type: ignore[misc, valid-type]
        def from_payloads(
            self, payloads: Sequence[Payload], type_hints: list[type] | None = None
        ) -> list[Any]:
            if any(payload.metadata.get("encoding") == REFUSED for payload in payloads):
                raise UnreadablePayload(_NOT_ENCRYPTED)
            values: list[Any] = super().from_payloads(payloads, type_hints)
            return values

    return dataclasses.replace(encrypting, payload_converter_class=Refusing)


_CONVERTERS = tuple(PydanticPayloadConverter().converters.values())


class InvalidPayload(ValueError):
    """A payload does not fit the type of its value; the message names the field and the value."""


class ProcessPayloadConverter(CompositePayloadConverter):
    """The converter of the SDK for pydantic, with errors of ours."""

    def __init__(self) -> None:
        """Share the converters: the SDK makes an object of this class for each task of a workflow."""
        super().__init__(*_CONVERTERS)

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
