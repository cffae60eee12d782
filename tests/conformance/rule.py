"""A rule that users may rely on: an id, and one sentence that says what Paramedic does."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Rule:
    """One promise; either tests prove it, or it says why it cannot be one of Paramedic's."""

    id: str
    does: str
    not_applicable: str | None = None
    """Why there is nothing to test."""


@dataclass(frozen=True)
class Section:
    """Rules that belong together; the id of each is the prefix and its row."""

    prefix: str
    does: str | None
    """One sentence for the page without its subject, Paramedic; None where the page lists each rule."""
    rows: Mapping[str, str]
    not_applicable: Mapping[str, str] = field(default_factory=dict)
    """Rows that do not apply, each with its reason; `rows` says what they would be about."""

    def rules(self) -> Iterator[Rule]:
        """Return the rules in the order in which they are written down."""
        for row, does in self.rows.items():
            yield Rule(f"{self.prefix}{row}", does, self.not_applicable.get(row))
