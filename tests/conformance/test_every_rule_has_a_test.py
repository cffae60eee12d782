"""Each promise is proved, and the page that says so is true."""

from tests.conformance.markers import all_proofs
from tests.conformance.page import PAGE, page, without_tests
from tests.conformance.register import BY_ID, RULES


def test_every_rule_has_a_test() -> None:
    missing = without_tests(RULES, all_proofs())

    assert not missing, "\n".join(["rules without a test:", *missing])


def test_every_marker_names_a_rule() -> None:
    assert {rule for proof in all_proofs() for rule in proof.rules} - set(BY_ID) == set()


def test_page_is_what_the_markers_say() -> None:
    assert PAGE.read_text() == page(all_proofs()), "run make conformance"


def test_no_two_rules_share_an_id() -> None:
    assert len(BY_ID) == len(RULES)
