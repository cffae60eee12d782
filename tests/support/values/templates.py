"""Templates, as they are known."""

from typing import Any

from health.check.template_validity import Place, Template, TemplateKind
from health.model.references import TemplateReference
from health.model.remediation_request import MULTIPLE_TEMPLATES

API = "example.com/v1"


def reference(name: str = "reboot", namespace: str = "ns", kind: str = "RebootTemplate") -> TemplateReference:
    return TemplateReference(api_version=API, kind=kind, namespace=namespace, name=name)


def template(
    name: str = "reboot", namespace: str = "ns", *, spec: Any = None, supports: bool = False
) -> Template:
    annotations = {MULTIPLE_TEMPLATES: ""} if supports else {}
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "annotations": annotations}
    return Template.model_validate(
        {"metadata": metadata, "spec": {"template": {"spec": {}}} if spec is None else spec}
    )


def kind(*templates: Template, **fields: Any) -> TemplateKind:
    return TemplateKind(
        templates={Place(one.metadata.namespace, one.metadata.name): one for one in templates}, **fields
    )
