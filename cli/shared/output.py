"""Keeps a command running after a failed write to standard output, and reports the failure at the end.

An order that is under way is not dropped because the reader of the output has gone, or the disk of a log is
full. Only commands that run until they are interrupted end on a failed write.
"""

import functools
import io
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, Self, TypeVar

from cli.shared.errors import ExitCode, print_error
from cli.shared.terminal import without_hidden

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Written(io.FileIO):
    """A file descriptor that discards all further output after a failed write."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._raises = False
        self.trouble: OSError | None = None
        """The error of the first failed write."""

    def write(self, data: "ReadableBuffer", /) -> int:
        if self.trouble is None:
            try:
                return super().write(data)
            except OSError as error:
                self.trouble = error
                if self._raises:
                    raise
        return memoryview(data).nbytes

    def raise_from_now_on(self) -> None:
        """Raise errors of writes at once, instead of reporting them at the end."""
        self._raises = True


class PlainText(io.TextIOWrapper):
    """A text stream that removes hidden characters, as the last guard before the terminal."""

    def write(self, text: str, /) -> int:
        super().write(without_hidden(text))
        return len(text)


class Output:
    """The streams of this process; a character that the encoding lacks is replaced."""

    def __init__(self, written: Written) -> None:
        self._written = written

    @classmethod
    def replace_streams(cls) -> Self:
        """Replace standard output and error, also if one is closed."""
        written, sys.stdout = _opened(sys.__stdout__, 1, "replace")
        _, sys.stderr = _opened(sys.__stderr__, 2, "backslashreplace")
        return cls(written)

    def flush(self) -> OSError | None:
        """Write buffered output. Returns the error of the first failed write."""
        sys.stdout.flush()
        return self._written.trouble

    def ends_with(self, code: int) -> int:
        """The exit code of a command that ended with `code`."""
        trouble = self.flush()
        if trouble is None:
            return code
        if isinstance(trouble, BrokenPipeError):
            return ExitCode.UNHEARD
        print_error(f"standard output cannot be written: {trouble.strerror}")
        return ExitCode.FAILED


def in_foreground(command: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Wrap a command that runs until it is interrupted: it also ends when its output cannot be written."""

    @functools.wraps(command)
    def run(*arguments: Parameters.args, **options: Parameters.kwargs) -> Result:
        end_unheard()
        return command(*arguments, **options)

    return run


def end_unheard() -> None:
    """Let a failed write end the command."""
    for stream in (sys.stdout, sys.stderr):
        written = getattr(stream.buffer, "raw", None)
        if isinstance(written, Written):
            written.raise_from_now_on()


def _opened(
    stream: io.TextIOWrapper | None, descriptor: int, errors: str
) -> tuple[Written, io.TextIOWrapper]:
    if stream is None:  # the next connection would get the number of a closed stream
        os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
    written = Written(descriptor)
    encoding = stream.encoding if stream else "utf-8"
    is_unbuffered = stream is not None and stream.line_buffering
    text = PlainText(io.BufferedWriter(written), encoding, errors, line_buffering=is_unbuffered)
    return written, text
