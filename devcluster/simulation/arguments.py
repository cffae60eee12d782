"""Arguments of the simulation's processes: values that cannot be used are refused by name."""

import argparse
from datetime import timedelta


def count(text: str) -> int:
    """Read a number of nodes; none is a number, as others may be added."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a whole number from 0, got {text!r}")
    return int(text)


def seconds(text: str) -> timedelta:
    """Read a period in seconds, above 0."""
    try:
        period = timedelta(seconds=float(text))
    except (ValueError, OverflowError) as error:
        raise argparse.ArgumentTypeError(f"must be seconds, got {text!r}") from error
    if period <= timedelta():
        raise argparse.ArgumentTypeError(f"must be above 0, got {text!r}")
    return period
