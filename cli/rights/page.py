"""The page docs/rights.md: what people wrote, and below it the table of rights, part by part."""

from collections.abc import Iterable, Iterator

from health.kinds.right import Part, Right

PAGE = "docs/rights.md"
MARK = "<!-- From here on `make rights` writes. -->\n"


def page(stored: str, rights: Iterable[Right]) -> str:
    """The page with a table for each part that these belong to; what stands above the mark stays."""
    parts: dict[Part, list[Right]] = {}
    for right in rights:
        parts.setdefault(right.part, []).append(right)
    tables = [line for part, rows in parts.items() for line in _table(part, rows)]
    return stored.partition(MARK)[0] + MARK + "".join(f"{line}\n" for line in tables)


def _table(part: Part, rights: list[Right]) -> Iterator[str]:
    where = sorted({right.granted_by for right in rights})
    yield ""
    yield f"## {part.needed[0].upper()}{part.needed[1:]}"
    yield f"Granted by {' and '.join(map(_quoted, where))}."
    yield ""
    yield "| process | may | on | where | because |"
    yield "|---|---|---|---|---|"
    yield from map(_row, rights)


def _row(right: Right) -> str:
    verbs = ", ".join(right.verbs)
    name = f" {right.name}" if right.name else ""
    where = f"namespace `{right.namespace}`" if right.namespace else "the cluster"
    return f"| {right.process} | {verbs} | `{right.resource_name}{name}` | {where} | {right.why} |"


def _quoted(granted_by: str) -> str:
    return f"`{granted_by}`" if granted_by.startswith("deploy/") else granted_by
