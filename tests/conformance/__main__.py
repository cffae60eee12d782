"""Write docs/conformance.md, and the tests of each rule to `dist/`."""

from tests.conformance.markers import ROOT, all_proofs
from tests.conformance.page import PAGE, PROOFS, list_of_tests, page
from tests.conformance.register import RULES

if __name__ == "__main__":
    proofs = all_proofs()
    PAGE.write_text(page(proofs))
    PROOFS.parent.mkdir(exist_ok=True)
    PROOFS.write_text(list_of_tests(RULES, proofs))
    print(f"{PROOFS.relative_to(ROOT)} lists the tests of each rule")  # noqa: T201  for the person who ran it
