"""How the spec of a check names a template, and whether the template can be used by itself (NHC 2.1/5).

Each kind of check adds its own rules about templates.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, NamedTuple, Protocol

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetPydanticSchema,
    PlainSerializer,
    field_validator,
)

from health.cluster.cluster_context import CheckProblem
from health.model.invalid_check import InvalidCheckError
from health.model.references import TemplateReference
from health.model.remediation_request import MULTIPLE_TEMPLATES, without_contents
from health.model.verdict import Text
from health.policy.check_choices import TemplateChoices
from objects.bounds import OR_NONE
from objects.field_problem import FieldProblem
from objects.frozen import FrozenObject
from objects.patterns import matching

_ApiVersion = Annotated[
    str, matching(r"([a-z0-9][-.a-z0-9]*/)?[a-z0-9]+", "must be an apiVersion such as example.com/v1")
]
_SEGMENT, _A_SEGMENT = r"\.*[^./%][^/%]*", "must have no '/' and no '%', and not only dots"
_Name = Annotated[str, Field(min_length=1), matching(_SEGMENT, _A_SEGMENT)]
"""A valid path segment: no slash, and not "..", which would lead to other objects."""
_Namespace = Annotated[str, matching(rf"({_SEGMENT})?", _A_SEGMENT)]


class TemplateField(FrozenObject):
    """The reference to a remediation template in a spec."""

    api_version: _ApiVersion
    kind: Text
    name: _Name
    namespace: _Namespace = ""

    @field_validator("kind")
    @classmethod
    def _names_a_kind(cls, kind: str) -> str:
        if kind == "Template":
            raise ValueError("names no kind of remediation before Template")
        return kind

    @property
    def reference(self) -> TemplateReference:
        return self.reference_in(self.namespace)

    def reference_in(self, namespace: str) -> TemplateReference:
        return TemplateReference(
            api_version=self.api_version, kind=self.kind, namespace=namespace, name=self.name
        )


def _without_namespace(raw: object) -> object:
    return {key: raw[key] for key in raw if key != "namespace"} if isinstance(raw, Mapping) else raw


LocalTemplate = Annotated[TemplateField, BeforeValidator(_without_namespace)]
"""A template in the namespace of its check: the field `namespace` is ignored, so it cannot be wrong (MHC
A.1)."""


TEMPLATE_FORBIDDEN = "RemediationTemplateForbidden"
_VERSION_LENGTH = 12


class TemplateMetadata(FrozenObject):
    """Identity, versions and annotations of a template."""

    name: str
    namespace: str = ""
    uid: str
    resource_version: str = ""
    generation: int = 0
    annotations: dict[str, str] = Field(default_factory=dict)


class _Contents(FrozenObject):
    """spec.template.spec, of which only the presence matters here."""


class _Frame(FrozenObject):
    spec: _Contents = _Contents()


class _TemplateSpec(FrozenObject):
    template: _Frame


# As `template_contents`, which would need the whole spec as Python values.
_HasContents = Annotated[_TemplateSpec | None, OR_NONE, AfterValidator(lambda spec: spec is not None)]


class Template(FrozenObject):
    """A remediation template without its contents, which are read again for each request."""

    metadata: TemplateMetadata
    has_contents: Annotated[
        bool, GetPydanticSchema(lambda _, handler: handler(_HasContents)), PlainSerializer(bool)
    ] = Field(default=False, alias="spec")

    @cached_property
    def problem(self) -> FieldProblem | None:
        """The first annotation that cannot be read; None without one."""
        try:
            TemplateChoices.of(self.metadata.annotations)
        except InvalidCheckError as error:
            return error.problem
        return None

    @property
    def version(self) -> str:
        """A fingerprint; a changed status does not count."""
        metadata = self.metadata
        # Kinds without generations fall back to the resourceVersion.
        return f"{metadata.uid} {metadata.generation or metadata.resource_version} {self.supports_multiple}"

    @cached_property
    def requires_approval(self) -> bool:
        """True if a person must approve its steps; also if that cannot be read."""
        return self.problem is not None or TemplateChoices.of(self.metadata.annotations).require_approval

    @property
    def supports_multiple(self) -> bool:
        """True if several requests may be made for one node."""
        return MULTIPLE_TEMPLATES in self.metadata.annotations


class Place(NamedTuple):
    """The namespace and name of a template."""

    namespace: str
    name: str


@dataclass(frozen=True, kw_only=True)
class TemplateKind:
    """The templates of one kind, as far as they are known."""

    templates: Mapping[Place, Template] = field(default_factory=dict)
    unreadable: Mapping[Place, str] = field(default_factory=dict)
    """Existing templates that cannot be read, with the problem."""
    is_namespaced: bool = True
    rejection: str | None = None
    """The API server's answer, if it does not serve the kind."""
    request_rejection: str | None = None
    """Why requests of the kind cannot be read at all; None: they can."""
    are_requests_refused: bool = False
    """Whether the reason is a missing right."""
    refused: Mapping[Place, str] = field(default_factory=dict)
    """Templates that the API server refuses to return, with its answer."""
    unread: frozenset[Place] = frozenset()
    """Templates that were not read yet."""

    def place(self, template: TemplateReference) -> Place:
        """The place of a template; for a cluster-scoped kind a given namespace is ignored."""
        return Place(template.namespace if self.is_namespaced else "", template.name)

    def version(self, template: TemplateReference) -> str:
        """A fingerprint of one template; it changes if another request may result."""
        place = self.place(template)
        rejection = self.rejection or self.refused.get(place) or self.unreadable.get(place)
        found = self.templates.get(place)
        if rejection or found is None:
            return rejection or ""
        return found.version


class TemplateKinds(Protocol):
    """Looks up the known templates of a kind."""

    def __call__(self, api_version: str, kind: str) -> TemplateKind | None:
        """The known templates of this kind; None before the first read."""


def unusable(
    template: TemplateReference, kinds: TemplateKinds, *, may_be_empty: bool = False
) -> CheckProblem | None:
    """Why a template by itself cannot be used; None if it can, or is not known yet."""
    kind = kinds(template.api_version, template.kind)
    if kind is None:
        return None
    if kind.rejection:
        return not_found(kind.rejection)
    if kind.is_namespaced and not template.namespace:
        return not_found(f"{template} not found: its kind is namespaced, and the check names no namespace")
    place = kind.place(template)
    if place in kind.refused:
        return forbidden(kind.refused[place])
    if place in kind.unreadable:
        return invalid(f"{template} cannot be read: {kind.unreadable[place]}")
    found = kind.templates.get(place)
    if found is None:
        return None if place in kind.unread else not_found(f"{template} not found")
    if found.problem is not None:
        return invalid(f"{template}: {found.problem}")
    return None if found.has_contents or may_be_empty else invalid(without_contents(template))


def not_found(why: str) -> CheckProblem:
    return CheckProblem("RemediationTemplateNotFound", f'Remediation template not found: "{why}"')


def forbidden(why: str) -> CheckProblem:
    """The problem of a template, or kind of requests, that may not be read: a right is missing."""
    return CheckProblem(TEMPLATE_FORBIDDEN, f'Remediation template may not be read: "{why}"')


def invalid(why: str) -> CheckProblem:
    return CheckProblem("RemediationTemplateInvalid", f'Remediation template is invalid: "{why}"')


def version_of(templates: Sequence[TemplateReference], kinds: TemplateKinds) -> str:
    """A short fingerprint of these templates; "" while nothing is known."""
    looked_up = [(template, kinds(template.api_version, template.kind)) for template in templates]
    versions = [kind.version(template) if kind else "" for template, kind in looked_up]
    if not any(versions):
        return ""
    return hashlib.sha256("\n".join(versions).encode()).hexdigest()[:_VERSION_LENGTH]
