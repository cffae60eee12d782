"""Reads a file that a person names, and the policy in it, as the detector reads it."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from cli.shared.errors import UsageError
from health.policy.policy import KEY, POLICY, InvalidPolicyError, Policy, policy_of
from objects.field_problem import FieldProblem
from objects.frozen import FrozenObject
from objects.yaml_document import LONGEST, NoDocumentError, read_document

STANDARD_INPUT = "-"
NAMES_NO_FIELD = (
    "names no field; blank text, unlike {}, holds every check if PARAMEDIC_MISSING_POLICY=hold is set"
)


def read_file(file: str) -> bytes:
    """The content of the file, one byte longer than allowed at most, so that the parser can refuse it.

    Raises:
        UsageError: the file cannot be read.

    """
    try:
        if file == STANDARD_INPUT:
            return sys.stdin.buffer.read(LONGEST + 1)
        with Path(file).open("rb") as opened:
            return opened.read(LONGEST + 1)
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}") from error


def fields_in(text: bytes) -> Mapping[str, Any]:
    """The fields of a document; none if it is no document, which the parser of the policy reports."""
    try:
        return read_document(text)
    except NoDocumentError:
        return {}


class _Named(FrozenObject):
    name: str


class _Manifest(FrozenObject):
    """A ConfigMap in a manifest; unlike a stored one it has no uid."""

    metadata: _Named
    data: Mapping[str, str] = Field(default_factory=dict)


def policy_in(text: bytes) -> tuple[str, Policy]:
    """The policy in a file, as text and parsed: the policy itself, or the ConfigMap with it.

    Raises:
        InvalidPolicyError: it is not valid; names the field and its value.

    """
    content = fields_in(text)
    if content.get("kind") != "ConfigMap":
        document = Policy.parse(text)
        return text.decode(), document
    try:
        manifest = _Manifest.model_validate(content)
    except ValidationError as error:
        raise InvalidPolicyError(str(FieldProblem.of(error))) from error
    if manifest.metadata.name != POLICY:
        raise InvalidPolicyError(f"metadata.name: must be {POLICY} (found {manifest.metadata.name!r})")
    return manifest.data.get(KEY, ""), policy_of(manifest.data)
