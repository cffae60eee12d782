"""docs/settings.md and docs/policy.md: each variable and field of the code, and no other."""

import re

from health.policy.policy_document import PolicyDocument
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
    fields = {field.alias for field in PolicyDocument.model_fields.values()}
    assert documented == fields, "add the field to the first table of docs/policy.md"
