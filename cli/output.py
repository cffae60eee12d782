"""Output: what a command says is written as far as it can be; what could not is told at its end.

An order that is under way is not dropped because whoever read of the one before it went away, or because the
disk of a log is full. What has no other end than a person's is ended by that.
"""

import functools
import io
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, Self, TypeVar

from cli.errors import ExitCode, say
from cli.terminal import without_hidden

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

Given = ParamSpec("Given")
Result = TypeVar("Result")


class Written(io.FileIO):
    """A file descriptor; after a write that failed, the rest goes nowhere."""

    def __init__(self, descriptor: int) -> None:
        """It stays open."""
        super().__init__(descriptor, "w", closefd=False)
        self._raises = False
        self.trouble: OSError | None = None
        """Why something could not be written."""

    def write(self, data: "ReadableBuffer", /) -> int:
        """Write, as long as that is possible."""
        if self.trouble is None:
            try:
                return super().write(data)
            except OSError as error:
                self.trouble = error
                if self._raises:
                    raise
        return memoryview(data).nbytes

    def raise_from_now_on(self) -> None:
        """Let a write that fails be an error at once, and not be told at the end."""
        self._raises = True


class PlainText(io.TextIOWrapper):
    """A stream of text that shows what it writes: nothing hidden reaches a terminal past the other guards."""

    def write(self, text: str, /) -> int:
        """Write `text` without what is hidden."""
        super().write(without_hidden(text))
        return len(text)


class Output:
    """What this process writes to; a character that its encoding lacks is replaced."""

    def __init__(self, written: Written) -> None:
        self._written = written

    @classmethod
    def replace_streams(cls) -> Self:
        """Take the place of the usual streams, also of one that is closed."""
        written, sys.stdout = _opened(sys.__stdout__, 1, "replace")
        _, sys.stderr = _opened(sys.__stderr__, 2, "backslashreplace")
        return cls(written)

    def flush(self) -> OSError | None:
        """Write what is left; answers why the answer, or a part of it, could not be written."""
        sys.stdout.flush()
        return self._written.trouble

    def ends_with(self, code: int) -> int:
        """The exit code of a command that ended with `code`."""
        trouble = self.flush()
        if trouble is None:
            return code
        if isinstance(trouble, BrokenPipeError):
            return ExitCode.UNHEARD
        say(f"standard output cannot be written: {trouble.strerror}")
        return ExitCode.FAILED


def in_foreground(command: Callable[Given, Result]) -> Callable[Given, Result]:
    """`command`, which runs until a person ends it, ended also when nobody reads what it says."""

    @functools.wraps(command)
    def run(*arguments: Given.args, **options: Given.kwargs) -> Result:
        end_unheard()
        return command(*arguments, **options)

    return run


def end_unheard() -> None:
    """Let the command fail where it cannot write."""
    for stream in (sys.stdout, sys.stderr):
        written = getattr(stream.buffer, "raw", None)
        if isinstance(written, Written):
            written.raise_from_now_on()


def _opened(
    stream: io.TextIOWrapper | None, descriptor: int, errors: str
) -> tuple[Written, io.TextIOWrapper]:
    if stream is None:  # it was closed, and the next connection would take its number
        os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
    written = Written(descriptor)
    encoding = stream.encoding if stream else "utf-8"
    is_unbuffered = stream is not None and stream.line_buffering
    text = PlainText(io.BufferedWriter(written), encoding, errors, line_buffering=is_unbuffered)
    return written, text
