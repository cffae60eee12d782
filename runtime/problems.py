"""Problems: the reasons why work cannot be done, one sentence per part, logged once per transition.

The problems of the process itself make it unready. Problems that affect only a part of the work are in a
separate object, otherwise a single missing right would make the whole process unready.
"""

import logging

_log = logging.getLogger(__name__)


class Problems:
    """The open problems of a process, which is ready without any, or of a part of its work."""

    def __init__(self, consequence: str = "not ready") -> None:
        """`consequence` is the message of each log entry."""
        self._consequence = consequence
        self._open: dict[str, str] = {}

    def report(self, part: str, sentence: str) -> None:
        """Record the problem of `part`; "" means that it is solved."""
        if self._open.get(part, "") == sentence:
            return
        if sentence:
            self._open[part] = sentence
            _log.warning(self._consequence, extra={"part": part, "problem": sentence})
            return
        del self._open[part]
        _log.info("well again", extra={"part": part})

    def sentence(self, part: str) -> str:
        """The problem of `part`, "" if there is none."""
        return self._open.get(part, "")

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(f"{part}: {sentence}" for part, sentence in self._open.items())
