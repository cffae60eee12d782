"""docs/settings.md, policy.md and annotations.md: each variable, field and annotation of the code."""

import re

from health.policy.check_choices import CheckChoices
from health.policy.policy import Policy
from runtime.settings import PREFIX, Settings
from tests.pages.page import named, part, rows

VARIABLES = {f"{PREFIX}{field.upper()}" for field in Settings.model_fields}


def test_page_has_every_variable_and_no_other() -> None:
    tables = [part("settings.md", heading) for heading in ("## Both processes", "## Detector", "## Worker")]
    found = {name for table in tables for row in rows(table) for name in named(row[0])}
    documented = {name for name in found if re.fullmatch(rf"{PREFIX}[A-Z_]+", name)}
    assert documented == VARIABLES, "add the variable to a table of docs/settings.md"


def test_page_has_every_field_of_a_policy_and_no_other() -> None:
    first, _, _ = part("policy.md", "# The policy").partition("\n## ")
    documented = {name for row in rows(first) for name in named(row[0])}
    fields = {field.alias for field in Policy.model_fields.values()}
    assert documented == fields, "add the field to the first table of docs/policy.md"


def test_page_has_every_annotation_of_a_check() -> None:
    documented = {name for row in rows(part("annotations.md", "## On checks")) for name in named(row[0])}
    choices = {str(field.alias) for field in CheckChoices.model_fields.values()}
    assert choices <= documented, "add the annotation to the first table of docs/annotations.md"
