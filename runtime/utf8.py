"""Decodes command line arguments and variables as UTF-8, whatever Python's locale."""


def in_utf8(text: str) -> str:
    """`text` decoded from its bytes; Python represents bytes that its locale cannot decode as surrogates.

    Raises:
        UnicodeError: the bytes are not UTF-8.

    """
    return text.encode(errors="surrogateescape").decode()
