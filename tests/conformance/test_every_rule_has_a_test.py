"""Each rule has a test, and docs/conformance.md lists each rule."""

import pytest

from tests.conformance.markers import Proof, all_proofs
from tests.conformance.page import PAGE, page, without_tests
from tests.conformance.register import BY_ID, RULES


@pytest.fixture(scope="module")
def proofs() -> list[Proof]:
    """Those of all tests, which are read once."""
    return all_proofs()


def test_every_rule_has_a_test(proofs: list[Proof]) -> None:
    missing = without_tests(RULES, proofs)

    assert not missing, "\n".join(["rules without a test:", *missing])


def test_every_marker_names_a_rule(proofs: list[Proof]) -> None:
    assert {rule for proof in proofs for rule in proof.rules} - set(BY_ID) == set()


def test_page_lists_every_rule() -> None:
    assert PAGE.read_text() == page(), "run make conformance"


def test_no_two_rules_share_an_id() -> None:
    assert len(BY_ID) == len(RULES)
