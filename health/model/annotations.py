"""Annotations `paramedic.dev/…` by which people give orders for a Node, a Machine or a check. Pure.

They are levels: each counts while it stands, and is read again at each look and before each write.

| annotation  | on                     | value                                                       |
|-------------|------------------------|-------------------------------------------------------------|
| `hold`      | Node, Machine or check | the reason, or JSON with `reason` and `until`; may be empty |
| `approve`   | Node or Machine        | the id of the question, then a reason if there is one       |
| `reject`    | Node or Machine        | the same                                                    |
| `remediate` | Node or Machine        | JSON, as `health.model.remediation_order` describes it      |

The records of Nodes and Machines keep the values as text, which is parsed when it is used.
"""

from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

from pydantic import AwareDatetime, ConfigDict, Field, GetPydanticSchema, ValidationError, model_validator
from pydantic.dataclasses import dataclass
from pydantic_core import core_schema

from health.model.remediation_order import REMEDIATE, OrderText
from objects.bounds import MOST_ITEMS
from objects.field_problem import FieldProblem
from objects.frozen import Frozen
from objects.short_text import PersonText

PREFIX = "paramedic.dev/"
HOLD, APPROVE, REJECT = (f"{PREFIX}{order}" for order in ("hold", "approve", "reject"))
ON_TARGETS = frozenset({HOLD, APPROVE, REJECT, REMEDIATE})
"""The annotations of Paramedic that a Node or Machine may have."""
BY_FULL_NAME = ConfigDict(extra="ignore")
"""The configuration of annotations: one with the bare name of a field has no meaning."""
_LONGEST_QUOTE = 60
_DIGITS = 16
_UNKNOWN = "an unknown annotation"
"""The API server accepts no annotation of this name, because it has spaces."""
_TEXTS = core_schema.dict_schema(
    core_schema.str_schema(),
    core_schema.with_default_schema(core_schema.str_schema(), on_error="omit"),
    max_length=MOST_ITEMS,
    fail_fast=True,
)


@dataclass(frozen=True, slots=True, kw_only=True, config=BY_FULL_NAME)
class TargetAnnotations:
    """The annotations of a Node or Machine by which people give orders, unparsed; None: absent."""

    hold: OrderText | None = Field(default=None, alias="paramedic.dev/hold")
    approve: OrderText | None = Field(default=None, alias="paramedic.dev/approve")
    reject: OrderText | None = Field(default=None, alias="paramedic.dev/reject")
    remediate: OrderText = Field(default="", alias="paramedic.dev/remediate")
    unknown: PersonText = Field(default="", alias="an unknown annotation")
    """The first `paramedic.dev/…` by name that is no order, and so has no effect; "" without one."""

    @model_validator(mode="before")
    @classmethod
    def _with_unknown(cls, annotations: object) -> object:
        if not isinstance(annotations, dict):
            return annotations
        unknown = [name for name in annotations if name.startswith(PREFIX) and name not in ON_TARGETS]
        return annotations | {_UNKNOWN: min(unknown)} if unknown else annotations


# Without the first link, `_with_unknown` would receive every value of the answer as Python values.
OF_TEXTS = GetPydanticSchema(lambda source, handler: core_schema.chain_schema([_TEXTS, handler(source)]))
"""For each field of this type: the annotations whose value is no text are left out."""
NO_ANNOTATIONS = TargetAnnotations()


class HoldOptions(Frozen):
    """The value of `paramedic.dev/hold` as JSON; each field is optional."""

    model_config = ConfigDict(extra="forbid")

    reason: PersonText = ""
    until: AwareDatetime | None = Field(default=None, strict=True)
    """When the hold ends; None: with the annotation."""


class HoldAnnotation(NamedTuple):
    """The hold that one annotation asks for."""

    reason: str
    until: datetime | None = None
    problem: str = ""
    """Why its value cannot be read; it then holds without an end, as the person wants a hold."""

    @property
    def why_endless(self) -> str:
        """The problem with its effect, for people; "" without a problem."""
        return self.problem and f"stands until it is removed, as its value cannot be read: {self.problem}"

    def is_over(self, now: datetime) -> bool:
        return self.until is not None and now >= self.until


@lru_cache(maxsize=1024)
def hold_in(text: str) -> HoldAnnotation:
    """The hold that the value of `paramedic.dev/hold` asks for: a reason in plain words, or JSON."""
    if not text.lstrip().startswith("{"):
        return HoldAnnotation(HoldOptions(reason=text.strip()).reason)
    try:
        options = HoldOptions.model_validate_json(text)
    except ValidationError as error:
        problem = FieldProblem.of(error, _LONGEST_QUOTE)
        return HoldAnnotation("", problem=str(problem) if problem.field else problem.words)
    return HoldAnnotation(options.reason, options.until)


class AnnotatedAnswer(Frozen):
    """An answer to a question, as an annotation gives it."""

    is_approval: bool
    question: PersonText
    """The id of the question."""
    reason: PersonText = ""
    place: PersonText
    """The object with the annotation."""


def answer_in(text: str, *, is_approval: bool, place: str) -> AnnotatedAnswer:
    """The answer in the value of `paramedic.dev/approve` or `paramedic.dev/reject`."""
    reason = "".join(text.split(maxsplit=1)[1:]).strip()
    return AnnotatedAnswer(is_approval=is_approval, question=question_in(text), reason=reason, place=place)


def question_in(text: str) -> str:
    """The id in the value, which is its first word; "" without one."""
    return next(iter(text.split(maxsplit=1)), "").lower()


def digest_of(value: str) -> str:
    """A short digest of a value, which tells it from a later value of the same annotation."""
    return sha256(value.encode(errors="surrogatepass")).hexdigest()[:_DIGITS]
