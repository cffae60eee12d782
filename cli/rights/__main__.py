"""Write the roles of `deploy/` and docs/rights.md."""

from cli.rights.written import ROOT, written

if __name__ == "__main__":
    for path, text in written().items():
        (ROOT / path).write_text(text)
