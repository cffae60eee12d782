"""Each rule has a test, and docs/conformance.md is up to date."""

import re

import pytest

from tests.conformance.markers import Proof, all_proofs
from tests.conformance.page import PAGE, page, without_tests
from tests.conformance.register import BY_ID, RULES, SECTIONS


@pytest.fixture(scope="module")
def proofs() -> list[Proof]:
    """Those of all tests, which are read once."""
    return all_proofs()


def test_every_rule_has_a_test(proofs: list[Proof]) -> None:
    missing = without_tests(RULES, proofs)

    assert not missing, "\n".join(["rules without a test:", *missing])


def test_every_marker_names_a_rule(proofs: list[Proof]) -> None:
    assert {rule for proof in proofs for rule in proof.rules} - set(BY_ID) == set()


def test_page_is_up_to_date(proofs: list[Proof]) -> None:
    assert PAGE.read_text() == page(proofs), "run make conformance"


def test_page_has_every_section_and_each_of_our_own_rules() -> None:
    listed = set(re.findall(r"^\| ([^|]+) \|", PAGE.read_text(), re.MULTILINE))
    own = {rule.id for rule in RULES if rule.id.startswith("rule ") and "/" not in rule.id}
    assert own | {section.prefix.rstrip("/") for section in SECTIONS if section.does} <= listed


def test_no_two_rules_share_an_id() -> None:
    assert len(BY_ID) == len(RULES)
