"""CheckChoices: settings for one check, by annotations on it named `paramedic.dev/…`.

TemplateChoices are the same for a remediation template.

They work on any kind of check. An unknown name or unreadable value makes the whole check invalid, with field
and value: a misspelt setting must not be ignored. The annotations of people for targets are no settings, and
order nothing on a check, except `paramedic.dev/hold`. A feature adds a field here, and the annotation has its
name: `proven_recovery` is `paramedic.dev/proven-recovery`. The detector reads them for each decision, and
`act` reads them again.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, PlainValidator, ValidationError

from health.model.annotations import HOLD, ON_TARGETS, PREFIX, HoldAnnotation, hold_in
from health.model.approval import ApprovalDefault
from health.model.evidence import EvidenceStore
from health.model.invalid_check import InvalidCheckError
from health.model.remediation_order import LONGEST_VALUE
from health.policy.limits import MOST, Limits, label_name
from objects.bounds import Bounded
from objects.durations import Duration, within
from objects.field_problem import FieldProblem, dotted, either, meant, names_beside, quoted
from objects.timestamps import as_time

SHORTEST_PROOF, LONGEST_PROOF = timedelta(seconds=1), timedelta(hours=24)
SHORTEST_RELAPSE, LONGEST_RELAPSE = timedelta(seconds=1), timedelta(hours=24)
SHORTEST_QUESTION, LONGEST_QUESTION = timedelta(minutes=1), timedelta(hours=168)


def annotation_hint(name: str, names: Iterable[str]) -> str:
    """The end of a message about an unknown annotation: the closest of these names, or the page of all."""
    return meant(name, names, PREFIX) or "; see docs/annotations.md"


def _annotation(field: str) -> str:
    return PREFIX + field.replace("_", "-")


def _one_of(values: Mapping[str, object]) -> PlainValidator:
    """Reads one of these words as its value."""

    def value_of(text: object) -> object:
        if text not in list(values):
            raise ValueError(f"must be {either(map(repr, values))}")
        return values[str(text)]

    return PlainValidator(value_of)


_TRUE_OR_FALSE = _one_of({"true": True, "false": False})


def _time(text: object) -> datetime:
    found = as_time(text)
    if found is None:
        raise ValueError("must be a time as 2026-01-31T12:00:00Z")
    return found


def _names(text: object) -> tuple[str, ...]:
    names = tuple(name.strip() for name in str(text).split(","))
    if not all(names):
        raise ValueError("must be names of maintenance windows, with commas between them")
    return names


def _pairs(text: object) -> object:
    """The numbers by label of a text of the form `label=number,label=number`."""
    if not isinstance(text, str):
        return text
    pairs = [pair.strip().rpartition("=") for pair in text.split(",")]
    if not all(equals for _, equals, _ in pairs) or len({label for label, _, _ in pairs}) < len(pairs):
        raise ValueError("must be label=number, each label once, with commas between them")
    return {label: number for label, _, number in pairs}


_Count = Annotated[int, Field(ge=1, le=MOST)]
_CountsByLabel = Annotated[dict[Annotated[str, AfterValidator(label_name)], _Count], BeforeValidator(_pairs)]


class _Choices(Bounded):
    """Settings by annotations; a missing annotation means the default."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=_annotation)

    @classmethod
    def of(cls, annotations: Mapping[str, str]) -> Self:
        """The settings in these annotations of an object.

        Raises:
            InvalidCheckError: an annotation cannot be read; names it and its value.

        """
        ours = {name: value for name, value in annotations.items() if name.startswith(PREFIX)}
        ours = {name: value for name, value in ours.items() if name not in ON_TARGETS - cls._levels}
        try:
            return cls.model_validate(ours)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            name = str(first["loc"][0])
            is_unknown = first["type"] == "extra_forbidden"
            words = cls._unknown if is_unknown else FieldProblem.of_details(first).words
            hint = annotation_hint(name, names_beside(cls, first["loc"])) if is_unknown else None
            raise _invalid(name, ours[name], words, hint) from error

    _unknown: ClassVar[str] = "there is no such annotation of a check"
    _levels: ClassVar[frozenset[str]] = frozenset()
    """The annotations of people that the object may have beside settings."""


def _invalid(name: str, value: str, words: str, hint: str | None = None) -> InvalidCheckError:
    field = f"metadata.annotations[{dotted((name,))}]"
    return InvalidCheckError(FieldProblem(field=field, words=words, found=quoted(value), hint=hint))


class TemplateChoices(_Choices):
    """The settings of one remediation template, by annotations on it."""

    require_approval: Annotated[bool, _TRUE_OR_FALSE] = False
    """True if a step with this template waits for the approval of a person."""

    _unknown: ClassVar[str] = "there is no such annotation of a template"


class CheckChoices(_Choices):
    """The settings of one check, by annotations on it."""

    hold: Annotated[
        HoldAnnotation | None, PlainValidator(lambda text: hold_in(str(text)[:LONGEST_VALUE]))
    ] = None
    """The hold of all its targets by a person."""
    shadow: Annotated[bool, _TRUE_OR_FALSE] = False
    """Shadow: do everything for the check except write (`health.policy.policy_in_force`)."""
    max_in_flight: _Count | None = None
    max_in_flight_by_label: _CountsByLabel = Field(default_factory=dict)
    max_starts_per_hour: _Count | None = None
    maintenance_windows: Annotated[tuple[str, ...], PlainValidator(_names)] = ()
    """The names of its maintenance windows in the policy."""
    proven_recovery: Annotated[Duration, within(SHORTEST_PROOF, LONGEST_PROOF)] | None = None
    """How long a target must be healthy after a new boot; None: no proof is required (ADR 38)."""
    relapse: Annotated[Duration, within(SHORTEST_RELAPSE, LONGEST_RELAPSE)] | None = None
    """How soon after a remediation a failure goes on with the next step; None: with the first (ADR 58)."""
    confirmed_cluster: str = Field(default="", max_length=64)
    """The uid of the namespace kube-system of its workload cluster, as a person confirms it (rule 50)."""
    confirmed_node_loss: Annotated[datetime, BeforeValidator(_time)] | None = None
    """Until when a person confirms that Nodes that vanished together are gone (rule 50)."""
    evidence: Annotated[EvidenceStore | None, _one_of({str(store): store for store in EvidenceStore})] = None
    """Where the state of a target before its first step is saved; None: nowhere."""
    require_approval: Annotated[bool, _TRUE_OR_FALSE] = False
    """True if each step waits for the approval of a person."""
    approval_expires_after: Annotated[Duration, within(SHORTEST_QUESTION, LONGEST_QUESTION)] | None = None
    """How long a question waits for its answer; None: it does not expire."""
    approval_default: Annotated[
        ApprovalDefault, _one_of({str(default): default for default in ApprovalDefault})
    ] = ApprovalDefault.HOLD
    """The consequence of a question that expires."""

    _levels: ClassVar[frozenset[str]] = frozenset({HOLD})

    @property
    def limits(self) -> Limits:
        return Limits.model_construct(
            max_in_flight=self.max_in_flight,
            max_in_flight_by_label=self.max_in_flight_by_label,
            max_starts_per_hour=self.max_starts_per_hour,
        )

    @classmethod
    def of(cls, annotations: Mapping[str, str]) -> Self:
        """The settings in these annotations of a check.

        Raises:
            InvalidCheckError: an annotation cannot be read, or needs another one; names it and its value.

        """
        found = super().of(annotations)
        default, expiry = map(_annotation, ("approval_default", "approval_expires_after"))
        if default in annotations and found.approval_expires_after is None:
            words = f"needs the annotation {expiry}, without which no question expires"
            raise _invalid(default, annotations[default], words)
        return found


SETTINGS = frozenset(filter(None, (field.alias for field in CheckChoices.model_fields.values()))) - {HOLD}
"""The annotations that are settings of a check."""
