"""Problems: what keeps work from being done, one sentence per part, said once per transition.

A process has one of its own, which makes it unready. What keeps only a part of its work is in another one,
else one missing right would take the whole process out of service.
"""

import logging

_log = logging.getLogger(__name__)


class Problems:
    """The open problems of a process, which is ready when there are none, or of a part of its work."""

    def __init__(self, consequence: str = "not ready") -> None:
        """`consequence` is what the log says of each."""
        self._consequence = consequence
        self._open: dict[str, str] = {}

    def report(self, part: str, sentence: str) -> None:
        """Note what is wrong with `part`; "" says that it is well again."""
        if self._open.get(part, "") == sentence:
            return
        if sentence:
            self._open[part] = sentence
            _log.warning(self._consequence, extra={"part": part, "problem": sentence})
            return
        del self._open[part]
        _log.info("well again", extra={"part": part})

    def sentence(self, part: str) -> str:
        """What is wrong with `part`, "" if nothing is."""
        return self._open.get(part, "")

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is wrong, in the order in which it went wrong."""
        return tuple(f"{part}: {sentence}" for part, sentence in self._open.items())
