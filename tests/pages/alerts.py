"""The alerts of docs/metrics.md."""

import re

from tests.pages.page import named, part, rows

PAGE = "metrics.md"


def alerts() -> list[str]:
    """Every expression that the page proposes on series of ours; those of kube-state-metrics come after."""
    text, _, _ = part(PAGE, "## What to alert on").partition("\n### ")
    in_tables = [named(row[1])[0] for row in rows(text)]
    return [*in_tables, *re.findall(r"^```\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)]
