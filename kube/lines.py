"""Cut a stream of bytes into lines, whatever the sizes of its pieces.

A line is complete when its newline has arrived. What is left over at the end was cut by a fault, and is
never delivered: half an object could be a valid, different one.
"""

from collections.abc import AsyncIterable, AsyncIterator

from kube.errors import Unreachable


async def complete_lines(pieces: AsyncIterable[bytes], asked: str, path: str) -> AsyncIterator[bytes]:
    """Yield the non-empty lines, without their newlines.

    Raises Unreachable: the stream ended in the middle of a line.
    """
    begun: list[bytes] = []  # a line of several MB comes in many pieces: join once, at its end
    async for piece in pieces:
        first, *rest = piece.split(b"\n")
        begun.append(first)
        for start_of_next in rest:
            line = b"".join(begun)
            begun = [start_of_next]
            if line:
                yield line
    if any(begun):
        raise Unreachable(f"{asked} ended in the middle of a line.", path=path)
