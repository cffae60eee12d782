"""The site of the documentation is built without a warning, and has every page."""

import os
import re
import subprocess
import sys
from pathlib import Path

from devcluster.manifests import ROOT

MKDOCS = Path(sys.executable).with_name("mkdocs")
CONFIGURATION = ROOT / "tools" / "site" / "mkdocs.yml"


def test_site_is_built_without_a_warning_and_has_every_page(tmp_path: Path) -> None:
    """Each page must be in the navigation, and each link and anchor must exist; else the build fails."""
    built = subprocess.run(  # noqa: S603  the command of this environment
        [MKDOCS, "build", "--strict", "--config-file", CONFIGURATION, "--site-dir", tmp_path],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    pages = (ROOT / "docs").rglob("*.md")
    expected = {page.relative_to(ROOT / "docs").with_suffix(".html") for page in pages}
    found = {page.relative_to(tmp_path) for page in tmp_path.rglob("*.html")}
    assert expected <= found
    pictures = {picture.name for picture in (ROOT / "docs" / "images").iterdir()}
    assert pictures == {picture.name for picture in (tmp_path / "images").iterdir()}
    shown = "".join(page.read_text() for page in tmp_path.glob("*.html"))
    assert pictures == set(re.findall(r'src="images/([^"]+)"', shown))
    first = (tmp_path / "index.html").read_text()
    assert re.search(r'href="concepts.html', first)
    assert "docs/" not in "".join(re.findall(r'href="([^"]+)"', first))
