"""Step names: the step that a person means by a template, and the name that people get to read. Pure."""

from collections.abc import Iterable

from health.model.references import TemplateReference


def meant_by(name: str, templates: Iterable[TemplateReference]) -> frozenset[TemplateReference]:
    """The templates that `name` may mean: NAME, KIND/NAME or KIND/NAMESPACE/NAME."""
    return frozenset(template for template in templates if name in template.names)


def short_name(template: TemplateReference, templates: Iterable[TemplateReference]) -> str:
    """The shortest name with its kind that means this template and no other of `templates`."""
    name = f"{template.kind}/{template.name}"
    others = (other for other in templates if other != template)
    return str(template) if meant_by(name, others) else name
