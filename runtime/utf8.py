"""UTF-8: what a person wrote on a command line or in a variable, whatever locale Python read it in."""


def in_utf8(text: str) -> str:
    """`text` as its bytes say it; a byte that Python could not read in its locale is a surrogate there.

    Raises:
        UnicodeError: the bytes are no UTF-8.

    """
    return text.encode(errors="surrogateescape").decode()
