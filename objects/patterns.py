"""Patterns of text that people write, each with the sentence that refuses other text."""

import re

from pydantic import AfterValidator

_ENDS = "and begin and end with a letter or digit"


def matching(pattern: str, allowed: str) -> AfterValidator:
    """Accept text that the pattern matches as a whole; its error is the sentence `allowed`."""
    compiled = re.compile(pattern)

    def match(text: str) -> str:
        if compiled.fullmatch(text) is None:
            raise ValueError(allowed)
        return text

    return AfterValidator(match)


LABEL = matching(
    r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", f"must be at most 63 lowercase letters, digits and '-', {_ENDS}"
)
"""A label of a DNS name."""
DNS_NAME = matching(
    r"[a-z0-9]([-.a-z0-9]*[a-z0-9])?", f"must be lowercase letters, digits, '-' and '.', {_ENDS}"
)
