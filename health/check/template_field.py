"""TemplateField: how the spec of a check names a remediation template."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field, field_validator

from health.model.references import TemplateReference
from objects.frozen import FrozenObject
from objects.patterns import matching

Text = Annotated[str, Field(min_length=1)]
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
        return TemplateReference(
            api_version=self.api_version, kind=self.kind, namespace=self.namespace, name=self.name
        )


def _without_namespace(raw: object) -> object:
    return {key: raw[key] for key in raw if key != "namespace"} if isinstance(raw, Mapping) else raw


LocalTemplate = Annotated[TemplateField, BeforeValidator(_without_namespace)]
"""A template in the namespace of its check: the field `namespace` is ignored, so it cannot be wrong (MHC
A.1)."""
