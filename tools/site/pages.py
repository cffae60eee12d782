# ruff: noqa: INP001  MkDocs loads this file by its path
"""Hooks of MkDocs: README and CONTRIBUTING are pages, and links that leave docs/ become plain text.

The README and the pages link to files of the source, which are not part of the site.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
DECISIONS = "decisions/index.md"
PAGES_OF_ROOT = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md"}
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put every decision into the navigation, after their list."""
    for part in config.nav or []:
        for item in part.get("Understand", ()) if isinstance(part, dict) else ():
            if "Decisions" in item:
                item["Decisions"] += [f"decisions/{path.name}" for path in _decisions()]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the README as the first page, CONTRIBUTING, and the list of decisions."""
    for name, page in PAGES_OF_ROOT.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text()))
    files.append(File.generated(config, DECISIONS, content=_list_of_decisions()))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:  # noqa: ANN401  as MkDocs calls it
    """Replace links to files that the site does not have."""
    is_of_root = page.file.src_uri in PAGES_OF_ROOT.values()
    folder = "" if is_of_root else posixpath.join("docs", posixpath.dirname(page.file.src_uri))

    def replaced(link: re.Match[str]) -> str:
        words, target = link.groups()
        if target.startswith(("#", "http://", "https://")):
            return link[0]
        name, hash_, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(folder, name))
        if path == "docs/decisions":
            return f"[{words}]({DECISIONS})"
        if path in PAGES_OF_ROOT:
            to = posixpath.relpath(PAGES_OF_ROOT[path], posixpath.dirname(page.file.src_uri) or ".")
            return f"[{words}]({to}{hash_}{anchor})"
        if not path.startswith("docs/"):
            return words if path in words else f"{words} (`{path}`)"
        return f"[{words}]({path.removeprefix('docs/')}{hash_}{anchor})" if is_of_root else link[0]

    return _LINK.sub(replaced, markdown)


def _decisions() -> list[Path]:
    return sorted((ROOT / "docs" / "decisions").glob("0*.md"))


def _list_of_decisions() -> str:
    lines = (f"- [{_title(path)}]({path.name})" for path in _decisions())
    return "\n".join(("# Decisions", "", *lines, ""))


def _title(path: Path) -> str:
    found = _TITLE.search(path.read_text())
    return found[1] if found else path.stem
