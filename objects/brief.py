"""Brief: a text for one line of the Temporal UI, which cuts long lines. The name in it is cut first. Pure."""

from dataclasses import dataclass

from objects.short_text import cut_to_length

LONGEST_LINE = 60
"""Characters: the Temporal UI shows a summary of this length beside the shortest bar of its timeline."""
SHORTEST_NAME = 8


@dataclass(frozen=True)
class Brief:
    """A text with at most one name, which readers find elsewhere in full."""

    before: str = ""
    name: str = ""
    after: str = ""

    def within(self, most: int = LONGEST_LINE) -> str:
        """One line of at most `most` characters: first the name is cut, then the end."""
        before, name, after = (" ".join(part.split()) for part in (self.before, self.name, self.after))
        parts = [part for part in (before, name, after) if part]
        room = most - len(" ".join(parts)) + len(name)
        if name:
            parts[1 if before else 0] = cut_to_length(name, max(room, SHORTEST_NAME))
        return cut_to_length(" ".join(parts), most)
