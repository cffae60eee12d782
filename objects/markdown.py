"""Texts of others in Markdown, as the Temporal UI shows it."""

_ESCAPED = str.maketrans({letter: f"\\{letter}" for letter in "\\`*[]<>"})
"""The letters that begin formatting, links and HTML."""


def escaped(text: str) -> str:
    """The text on one line, without effect on the Markdown around it."""
    return " ".join(text.translate(_ESCAPED).split())


def listed(*lines: tuple[str, str | None]) -> str:
    """A list of labels and texts, without those whose text is None or empty."""
    return "\n".join(f"- **{label}:** {escaped(text)}" for label, text in lines if text)
