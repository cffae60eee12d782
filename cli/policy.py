"""`paramedic policy check`: shows the values that a policy sets, or why it is invalid.

The command needs neither Temporal nor a cluster. It parses the policy as the detector does.
"""

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import BaseModel, Field, ValidationError

from cli.errors import UsageError, fail
from health.policy.policy_document import POLICY, InvalidPolicyError, PolicyDocument, document_of
from health.policy.policy_problem import policy_problem
from objects.durations import in_words
from objects.frozen import FrozenObject
from objects.yaml_document import LONGEST, NoDocumentError, read_document

STANDARD_INPUT = "-"
NOTHING = "names no field; blank text, unlike {}, holds every check if PARAMEDIC_MISSING_POLICY=hold is set"

policy = typer.Typer(name="policy", add_completion=False, no_args_is_help=True)


@policy.callback()
def about() -> None:
    """Check a policy before it is applied."""


@policy.command()
def check(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A policy, or the ConfigMap with it; - is standard input.")
    ],
) -> None:
    """Print the values that a policy sets; exit code 2 if it is invalid, with field and value."""
    try:
        document = _document(_read(file))
    except (InvalidPolicyError, UsageError) as error:
        raise fail(UsageError(f"{file}: {error}")) from error
    for name, field in PolicyDocument.model_fields.items():
        named = "" if name in document.model_fields_set else " (default)"
        typer.echo(f"{field.alias}: {_shown(getattr(document, name))}{named}")
    if not document.model_fields_set:
        typer.echo(f"{file}: {NOTHING}", err=True)


def _read(file: str) -> bytes:
    """The content of the file, one byte longer than allowed at most, so that the parser can refuse it."""
    try:
        if file == STANDARD_INPUT:
            return sys.stdin.buffer.read(LONGEST + 1)
        with Path(file).open("rb") as opened:
            return opened.read(LONGEST + 1)
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}") from error


class _Named(FrozenObject):
    name: str


class _Manifest(FrozenObject):
    """A ConfigMap in a manifest; unlike a stored one it has no uid."""

    metadata: _Named
    data: Mapping[str, str] = Field(default_factory=dict)


def _document(text: bytes) -> PolicyDocument:
    content: Mapping[str, Any] = {}
    with suppress(NoDocumentError):  # the policy's parser reports it
        content = read_document(text)
    if content.get("kind") == "ConfigMap":
        return _of_config_map(content)
    return PolicyDocument.parse(text)


def _of_config_map(content: Mapping[str, Any]) -> PolicyDocument:
    try:
        manifest = _Manifest.model_validate(content)
    except ValidationError as error:
        raise InvalidPolicyError(policy_problem(error)) from error
    if manifest.metadata.name != POLICY:
        raise InvalidPolicyError(f"metadata.name: must be {POLICY} (found {manifest.metadata.name!r})")
    return document_of(manifest.data)


def _shown(value: object) -> str:
    if value is None:
        return "off"
    plain = _plain(value)
    return plain if isinstance(plain, str) else json.dumps(plain)


def _plain(value: object) -> object:
    """`value` for JSON, with durations in Go's format."""
    if isinstance(value, timedelta):
        return in_words(value)
    if isinstance(value, BaseModel):
        fields = {field.alias: getattr(value, name) for name, field in type(value).model_fields.items()}
        return {str(name): _plain(one) for name, one in fields.items() if one is not None}
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value
