"""PayloadKeys: the keys that encrypt payloads in Temporal, from a file that a Secret is mounted as.

As in the EncryptionConfiguration of Kubernetes, the first key encrypts, and each key decrypts the payloads
that name it. With `requireEncryption`, plain payloads are refused, so that the keys authenticate (ADR 42).
Errors about the file name its setting and field, and never a value: any value may be a key.
"""

from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from objects.bounds import FailFast
from objects.field_problem import FieldProblem, dotted
from objects.patterns import matching
from objects.yaml_document import LONGEST, NoDocumentError, read_document
from runtime.settings import PAYLOAD_KEYS_VARIABLE, SettingsError

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
        entries = _parsed(path)
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


def _parsed(path: str) -> _File:
    # `from None`: errors of the parsers quote the file.
    try:
        with Path(path).open("rb") as file:
            return _File.model_validate(read_document(file.read(LONGEST + 1)))
    except OSError as error:
        raise _wrong(path, str(error.strerror)) from error
    except NoDocumentError as error:
        raise _wrong(path, str(error)) from None
    except ValidationError as error:
        raise _wrong(path, _sentence(error.errors(include_url=False, include_input=False)[0])) from None


def _sentence(details: ErrorDetails) -> str:
    problem = FieldProblem.of_details(details, longest_value=0)
    if details["type"] == "extra_forbidden":  # the name could be a secret
        problem = FieldProblem(field=dotted(details["loc"][:-1]), words="has a field that is not known")
    if problem.field in {"", "keys"}:
        return "must have `keys`, a list with the `name` and the `secret` of each"
    return str(problem)


def _wrong(path: str, why: str) -> SettingsError:
    return SettingsError(f"{PAYLOAD_KEYS_VARIABLE}: {path}: {why}")
