"""Write the roles of `deploy/` and docs/rights.md: `python -m rights`."""

from rights.generator import ROOT, written

for path, text in written().items():
    (ROOT / path).write_text(text)
