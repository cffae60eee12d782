"""docs/settings.md: each variable of `Settings`, and no other."""

import re

from runtime.settings import PREFIX, Settings
from tests.pages.page import named, part, rows

PAGE = "settings.md"
IN_TABLES = ("## Both processes", "## Detector", "## Worker")
VARIABLES = {f"{PREFIX}{field.upper()}" for field in Settings.model_fields}


def test_page_has_every_variable_and_no_other() -> None:
    documented = {
        name
        for heading in IN_TABLES
        for row in rows(part(PAGE, heading))
        for name in named(row[0])
        if re.fullmatch(rf"{PREFIX}[A-Z_]+", name)
    }
    assert documented == VARIABLES, "add the variable to a table of docs/settings.md"
