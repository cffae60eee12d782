"""Annotations of Nodes, Machines and checks that give an order: `paramedic.dev/hold`, and one for each other.

The detector keeps a digest of each value, so that the slim records of a large cluster stay small. The worker
reads the value itself.
"""

import dataclasses
from collections.abc import Mapping
from hashlib import sha256
from typing import Annotated, NamedTuple

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetPydanticSchema,
    model_validator,
)
from pydantic.dataclasses import dataclass
from pydantic_core import CoreSchema, core_schema

from health.model.references import UID_LENGTH, TypedObjectReference
from health.model.remediation_order import REMEDIATE, OrderText
from objects.bounded_id import bounded_id
from objects.fail_fast import MOST_ITEMS
from objects.frozen import Frozen
from objects.short_text import PersonText

PREFIX = "paramedic.dev/"
BY_FULL_NAME = ConfigDict(extra="ignore")
"""The configuration of annotations: one with the bare name of a field has no meaning."""
_DIGITS = 16


def digest_of(value: str) -> str:
    """A short digest of a value, which tells it from a later value of the same annotation."""
    return sha256(value.encode(errors="surrogatepass")).hexdigest()[:_DIGITS]


def _digest_if_present(value: str | None) -> str | None:
    return None if value is None else digest_of(value)


Digest = Annotated[str | None, AfterValidator(_digest_if_present)]


class OrderAnnotation(NamedTuple):
    """One annotation that gives an order, without its value."""

    order: str
    digest: str
    """The digest of its value."""


@dataclass(frozen=True, slots=True, kw_only=True, config=BY_FULL_NAME)
class OrderAnnotations:
    """The orders among the annotations of an object, as digests; None: absent."""

    abort: Digest = Field(default=None, alias="paramedic.dev/abort")
    hold: Digest = Field(default=None, alias="paramedic.dev/hold")
    claim: Digest = Field(default=None, alias="paramedic.dev/claim")
    unclaim: Digest = Field(default=None, alias="paramedic.dev/unclaim")
    skip: Digest = Field(default=None, alias="paramedic.dev/skip")
    resume: Digest = Field(default=None, alias="paramedic.dev/resume")
    approve: Digest = Field(default=None, alias="paramedic.dev/approve")
    reject: Digest = Field(default=None, alias="paramedic.dev/reject")

    @property
    def orders(self) -> tuple[OrderAnnotation, ...]:
        found = ((name, getattr(self, name)) for name in ORDER_NAMES)
        return tuple(OrderAnnotation(name, digest) for name, digest in found if digest is not None)


ORDER_NAMES = tuple(field.name for field in dataclasses.fields(OrderAnnotations))
"""The names of all orders that an annotation can give."""


def annotation_of(order: str) -> str:
    """The name of the annotation that gives this order."""
    return f"{PREFIX}{order}"


ON_TARGETS = frozenset({*map(annotation_of, ORDER_NAMES), REMEDIATE})
"""The annotations of Paramedic that a Node or Machine may have."""
_UNKNOWN = "an unknown annotation"
"""The API server accepts no annotation of this name, because it has spaces."""
_TEXTS = core_schema.dict_schema(
    core_schema.str_schema(),
    core_schema.with_default_schema(core_schema.str_schema(), on_error="omit"),
    max_length=MOST_ITEMS,
    fail_fast=True,
)


@dataclass(frozen=True, slots=True, kw_only=True, config=BY_FULL_NAME)
class TargetAnnotations(OrderAnnotations):
    """The annotations of a target by which people give orders to its incidents, or order its remediation."""

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


def _of_texts(source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
    # Without the first link, `_with_unknown` would receive every value of the answer as Python values.
    return core_schema.chain_schema([_TEXTS, handler(source)])


OF_TEXTS = GetPydanticSchema(_of_texts)
"""For each field of this type: the annotations whose value is no text are left out."""


def orders_in(annotations: Mapping[str, str]) -> tuple[OrderAnnotation, ...]:
    """The orders among these annotations, in the order of ORDER_NAMES."""
    values = ((name, annotations.get(annotation_of(name))) for name in ORDER_NAMES)
    return tuple(OrderAnnotation(name, digest_of(value)) for name, value in values if value is not None)


class AnnotatedObject(TypedObjectReference):
    """A Node, Machine or check that may have such an annotation, identified by its uid."""

    uid: str


class AnnotatedOrderKey(Frozen):
    """One order by annotation: the object, and the name of the order."""

    cluster: str
    subject: AnnotatedObject
    order: str

    @property
    def annotation(self) -> str:
        return annotation_of(self.order)

    @property
    def workflow_id(self) -> str:
        """`order/<cluster>/<object>/<uid>/<order>`, with a part of the uid."""
        return bounded_id(
            f"{orders_of(self.cluster)}{self.subject}/{self.subject.uid[:UID_LENGTH]}/{self.order}"
        )


def orders_of(cluster: str) -> str:
    """The beginning of the workflow ids of all orders by annotation of a cluster."""
    return f"order/{cluster}/"
