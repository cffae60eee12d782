"""What is known of remediation templates, and whether one of them can be used by itself (NHC 2.1/5).

What else a check may not do with its templates is its kind's to say.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple, Protocol

from pydantic import BeforeValidator, Field

from health.gate.cluster_context import CheckProblem
from health.model.references import TemplateReference
from health.model.remediation_request import MULTIPLE_TEMPLATES, contents_of, without_contents
from objects.frozen import FrozenObject

TEMPLATE_FORBIDDEN = "RemediationTemplateForbidden"
_VERSION_LENGTH = 12


class TemplateMetadata(FrozenObject):
    """Identity and annotations of a template."""

    name: str
    namespace: str = ""
    uid: str
    resource_version: str = ""
    generation: int = 0
    annotations: dict[str, str] = Field(default_factory=dict)


class Template(FrozenObject):
    """A remediation template: what it would put into a request is left out, it is read anew for each."""

    metadata: TemplateMetadata
    has_contents: Annotated[bool, BeforeValidator(lambda spec: contents_of(spec) is not None)] = Field(
        default=False, alias="spec"
    )

    @property
    def supports_multiple(self) -> bool:
        """Whether several requests may be made for one node."""
        return MULTIPLE_TEMPLATES in self.metadata.annotations


class Place(NamedTuple):
    """Where a template lives."""

    namespace: str
    name: str


@dataclass(frozen=True)
class TemplateKind:
    """What is known of the templates of one kind."""

    templates: Mapping[Place, Template] = field(default_factory=dict)
    unreadable: Mapping[Place, str] = field(default_factory=dict)
    """Those that exist and cannot be read, with what is wrong."""
    is_namespaced: bool = True
    rejection: str = ""
    """What the API server said where it does not serve the kind."""
    request_rejection: str = ""
    """Why the requests that are made from them cannot be read, as their kind as a whole."""
    are_requests_forbidden: bool = False
    """Whether that is a right that is missing."""
    refused: Mapping[Place, str] = field(default_factory=dict)
    """Those that it does not let us read, with what it said."""
    unread: frozenset[Place] = frozenset()
    """Those that were never looked at yet."""

    def place(self, template: TemplateReference) -> Place:
        """Where a template of this kind lives; one that is not namespaced may be named with a namespace."""
        return Place(template.namespace if self.is_namespaced else "", template.name)

    def version(self, template: TemplateReference) -> str:
        """Stands for what is known of one template; another one where it may lead to another request."""
        place = self.place(template)
        rejection = self.rejection or self.refused.get(place) or self.unreadable.get(place)
        found = self.templates.get(place)
        if rejection or found is None:
            return rejection or ""
        known = found.metadata
        # A status that moves on is nothing new; where the kind counts no generations there is nothing better.
        return f"{known.uid} {known.generation or known.resource_version} {found.supports_multiple}"


class TemplateKinds(Protocol):
    """What is known of all kinds."""

    def __call__(self, api_version: str, kind: str) -> TemplateKind | None:
        """What is known of this kind; None before anything is."""


def unusable(
    template: TemplateReference, kinds: TemplateKinds, *, may_be_empty: bool = False
) -> CheckProblem | None:
    """Why a template by itself cannot be used; None if it can, or nobody knows yet."""
    kind = kinds(template.api_version, template.kind)
    return None if kind is None else _problem(template, kind, may_be_empty=may_be_empty)


def request_rejection(template: TemplateReference, kinds: TemplateKinds) -> str:
    """Why the API server does not let us read the kind of its requests; "" where it does."""
    kind = kinds(template.api_version, template.kind)
    return "" if kind is None else kind.request_rejection


def requestless(template: TemplateReference, kinds: TemplateKinds) -> CheckProblem | None:
    """The same as a problem of the template; None where its requests can be read."""
    kind = kinds(template.api_version, template.kind)
    if kind is None or not kind.request_rejection:
        return None
    return (forbidden if kind.are_requests_forbidden else not_found)(kind.request_rejection)


def not_found(why: str) -> CheckProblem:
    """A template, or its kind, is not there."""
    return CheckProblem("RemediationTemplateNotFound", f'Remediation template not found: "{why}"')


def forbidden(why: str) -> CheckProblem:
    """A template, or the kind of its requests, may not be read: a right is missing, whatever is there."""
    return CheckProblem(TEMPLATE_FORBIDDEN, f'Remediation template may not be read: "{why}"')


def invalid(why: str) -> CheckProblem:
    """A template is there and cannot be used."""
    return CheckProblem("RemediationTemplateInvalid", f'Remediation template is invalid: "{why}"')


def _problem(template: TemplateReference, kind: TemplateKind, *, may_be_empty: bool) -> CheckProblem | None:
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
    return None if found.has_contents or may_be_empty else invalid(without_contents(template))


def version_of(templates: Sequence[TemplateReference], kinds: TemplateKinds) -> str:
    """Stands for what is known of these templates, in few characters; "" where nothing is."""
    known = [(one, kinds(one.api_version, one.kind)) for one in templates]
    versions = [kind.version(one) if kind else "" for one, kind in known]
    if not any(versions):
        return ""
    return hashlib.sha256("\n".join(versions).encode()).hexdigest()[:_VERSION_LENGTH]
