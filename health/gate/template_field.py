"""Template: how the spec of a check names a remediation template."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field, field_validator

from health.model.references import TemplateReference
from objects.frozen import FrozenObject

Text = Annotated[str, Field(min_length=1)]
_ApiVersion = Annotated[str, Field(pattern=r"^([a-z0-9][-.a-z0-9]*/)?[a-z0-9]+$")]
_Name = Annotated[str, Field(min_length=1, pattern=r"^[^/%]*[^./%][^/%]*$")]
"""What can be a segment of a path: no slash, and not "..", which leads to other objects."""
_Namespace = Annotated[str, Field(pattern=r"^([^/%]*[^./%][^/%]*)?$")]


class Template(FrozenObject):
    """A reference to a remediation template."""

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
        """The same as a reference of ours."""
        return TemplateReference(
            api_version=self.api_version, kind=self.kind, namespace=self.namespace, name=self.name
        )


def _without_namespace(raw: object) -> object:
    return {key: raw[key] for key in raw if key != "namespace"} if isinstance(raw, Mapping) else raw


LocalTemplate = Annotated[Template, BeforeValidator(_without_namespace)]
"""One that is where its check is: nobody looks at the namespace, so it cannot be wrong (MHC A.1)."""
