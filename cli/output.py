"""Output: what a command says is written as far as it can be; what could not is told at its end.

An order that is under way is not dropped because whoever read of the one before it went away, or because the
disk of a log is full. What has no other end than a person's is ended by that.
"""

import functools
import io
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from cli.failing import ExitCode, say

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

Given = ParamSpec("Given")
Result = TypeVar("Result")


class Written(io.FileIO):
    """A file descriptor; after a write that failed, the rest goes nowhere."""

    is_patient = True
    """Whether a write that failed is told at the end; else it is raised."""

    def __init__(self, descriptor: int) -> None:
        """It stays open."""
        super().__init__(descriptor, "w", closefd=False)
        self.trouble: OSError | None = None
        """Why something could not be written."""

    def write(self, data: "ReadableBuffer", /) -> int:
        """Write, as long as that is possible."""
        if self.trouble is None:
            try:
                return super().write(data)
            except OSError as error:
                self.trouble = error
                if not self.is_patient:
                    raise
        return memoryview(data).nbytes


class Output:
    """What this process writes to; a character that its encoding lacks is replaced."""

    def __init__(self) -> None:
        """Take the place of the usual streams, also of one that is closed."""
        self._written, sys.stdout = _opened(sys.__stdout__, 1, "replace")
        _, sys.stderr = _opened(sys.__stderr__, 2, "backslashreplace")

    @property
    def trouble(self) -> OSError | None:
        """Why the answer, or a part of it, could not be written."""
        sys.stdout.flush()
        return self._written.trouble

    def ends_with(self, code: int) -> int:
        """The exit code of a command that ended with `code`."""
        if self.trouble is None:
            return code
        if isinstance(self.trouble, BrokenPipeError):
            return ExitCode.UNHEARD
        say(f"standard output cannot be written: {self.trouble.strerror}")
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
    Written.is_patient = False


def _opened(
    stream: io.TextIOWrapper | None, descriptor: int, errors: str
) -> tuple[Written, io.TextIOWrapper]:
    if stream is None:  # it was closed, and the next connection would take its number
        os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
    written = Written(descriptor)
    encoding = stream.encoding if stream else "utf-8"
    is_unbuffered = stream is not None and stream.line_buffering
    text = io.TextIOWrapper(io.BufferedWriter(written), encoding, errors, line_buffering=is_unbuffered)
    return written, text
