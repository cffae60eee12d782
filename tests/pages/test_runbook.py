"""docs/runbook/: a section for each alert and for each reason to hold, and for nothing else."""

import re

import pytest

from devcluster.manifests import ROOT
from health.model.observation import HoldReason
from tests.support.alert_rules import rules

ALERTS, HOLDS = "alerts.md", "holds.md"
ALERT_NAMES = [rule["alert"] for rule in rules()]


def sections(page: str) -> dict[str, str]:
    """The text of each section of the third level."""
    text = (ROOT / "docs" / "runbook" / page).read_text()
    _, *parts = re.split(r"^### ", text, flags=re.MULTILINE)
    named = (re.split(r"^## ", part, maxsplit=1, flags=re.MULTILINE)[0].partition("\n") for part in parts)
    assert len({name for name, _, _ in named}) == len(parts), f"{page} has two sections of one name"
    return {part.partition("\n")[0]: part.partition("\n")[2] for part in parts}


@pytest.mark.parametrize("name", ALERT_NAMES)
def test_alert_has_a_section_with_its_meaning_its_effect_and_what_to_do(name: str) -> None:
    section = sections(ALERTS).get(name, "")
    assert re.match(r"\w.+?\n\n- \*\*Effect\*\*: .+?\n- \*\*What to do\*\*: \S", section, re.DOTALL), (
        f"docs/runbook/{ALERTS}: add a section '### {name}': meaning, effect, what to do"
    )


@pytest.mark.parametrize("reason", HoldReason)
def test_reason_to_hold_has_a_section_that_says_why_and_what_to_do(reason: HoldReason) -> None:
    section = sections(HOLDS).get(reason, "")
    assert re.match(r"\S.+?\n\n- \*\*Why it holds\*\*: .+?\n- \*\*What to do\*\*: \S", section, re.DOTALL), (
        f"docs/runbook/{HOLDS}: add a section '### {reason}': meaning, why it holds, what to do"
    )


def test_runbook_has_no_section_for_something_that_does_not_exist() -> None:
    assert sections(ALERTS).keys() == set(ALERT_NAMES)
    assert sections(HOLDS).keys() == set(HoldReason)


@pytest.mark.parametrize("rule", rules(), ids=ALERT_NAMES)
def test_alert_links_to_its_section(rule: dict[str, dict[str, str]]) -> None:
    assert rule["annotations"]["runbook_url"] == f"docs/runbook/{ALERTS}#{str(rule['alert']).lower()}"
    assert rule["annotations"]["summary"]
    assert rule["annotations"]["description"]
