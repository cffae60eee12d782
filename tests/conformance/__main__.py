"""Write docs/conformance.md."""

from tests.conformance.markers import all_proofs
from tests.conformance.page import PAGE, page

if __name__ == "__main__":
    PAGE.write_text(page(all_proofs()))
