"""`paramedic policy`: shows the values that a policy sets, or why it is invalid, and tries a receiver.

`check` needs neither Temporal nor a cluster. A file is parsed as the detector parses the policy.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import BaseModel, Field, ValidationError

from cli.shared.errors import UsageError, carry_out, fail
from cli.shared.options import ClusterChoice, InspectedCluster, OfContext, filled
from health.policy.policy import KEY, POLICY, InvalidPolicyError, Policy, policy_of
from objects.durations import in_words
from objects.field_problem import FieldProblem
from objects.frozen import FrozenObject
from objects.yaml_document import LONGEST, NoDocumentError, read_document

policy = typer.Typer(name="policy", add_completion=False, no_args_is_help=True)


@policy.callback()
def about() -> None:
    """Check a policy before it is applied, and try its receivers."""


@policy.command()
def check(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A policy, or the ConfigMap with it; - is standard input.")
    ],
) -> None:
    """Print the values that a policy sets; exit code 2 if it is invalid, with field and value."""
    try:
        _, document = policy_in(read_file(file))
    except (InvalidPolicyError, UsageError) as error:
        raise fail(UsageError(f"{file}: {error}")) from error
    for name, field in Policy.model_fields.items():
        named = "" if name in document.model_fields_set else " (default)"
        for line in _lines(str(field.alias), getattr(document, name), named):
            typer.echo(line)
    if not document.model_fields_set:
        typer.echo(f"{file}: {NAMES_NO_FIELD}", err=True)


@policy.command()
def notify(
    context: typer.Context,
    receiver: Annotated[
        str, typer.Argument(parser=filled, metavar="RECEIVER", help="Its name in the policy.")
    ],
    *,
    directory: Annotated[
        Path | None,
        typer.Option(help="Directory of the files with addresses; default: that of the worker's settings."),
    ] = None,
    kubeconfig_context: OfContext = None,
    cluster: InspectedCluster = None,
) -> None:
    """Send a test message to a receiver of the policy in the cluster, and print its answer."""
    # Imported here, because few commands need Kubernetes, and the time to load it.
    from cli.trial_notification import send_trial  # noqa: PLC0415  see above

    choice = ClusterChoice(context, kubeconfig_context, cluster)
    typer.echo(carry_out(send_trial(choice, receiver, directory)))


def _lines(name: str, value: object, named: str) -> Iterator[str]:
    """The value of a field; a list has a line for each item, without the fields that have their default."""
    if not isinstance(value, tuple) or not value:
        plain = "off" if value is None else _plain(value)
        yield f"{name}: {plain if isinstance(plain, str) else json.dumps(plain)}{named}"
        return
    yield f"{name}:{named}"
    for item in value:
        yield f"- {json.dumps(_plain(item, only_changed=True))}"


def _plain(value: object, *, only_changed: bool = False) -> object:
    """`value` for JSON, with durations in Go's format; `only_changed` leaves out defaults."""
    if isinstance(value, timedelta):
        return in_words(value)
    if isinstance(value, BaseModel):
        known = type(value).model_fields.items()
        fields = [(str(field.alias), field, getattr(value, name)) for name, field in known]
        shown = [(name, item) for name, field, item in fields if not only_changed or item != field.default]
        return {name: _plain(item) for name, item in shown if item is not None}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


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
