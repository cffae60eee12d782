"""Problems: what keeps a process from doing its work, one sentence per part, said once per transition."""

import logging

_log = logging.getLogger(__name__)


class Problems:
    """The open problems of one process; it is ready when there are none."""

    def __init__(self) -> None:
        self._open: dict[str, str] = {}

    def report(self, part: str, sentence: str) -> None:
        """Note what is wrong with `part`; "" says that it is well again."""
        if self._open.get(part, "") == sentence:
            return
        if sentence:
            self._open[part] = sentence
            _log.warning("not ready", extra={"part": part, "problem": sentence})
            return
        del self._open[part]
        _log.info("well again", extra={"part": part})

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is wrong, in the order in which it went wrong."""
        return tuple(f"{part}: {sentence}" for part, sentence in self._open.items())
