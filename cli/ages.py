"""Ages: durations as short as a column is narrow, in their two greatest units: "3d4h", "1h5m", "9s"."""

from datetime import timedelta

_UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


def short(duration: timedelta) -> str:
    """`duration` in whole seconds, cut to its two greatest units."""
    rest = max(0, int(duration.total_seconds()))
    for place, (unit, seconds) in enumerate(_UNITS):
        value, rest = divmod(rest, seconds)
        if value:
            return f"{value}{unit}{_second(place + 1, rest)}"
    return "0s"


def _second(place: int, rest: int) -> str:
    if place == len(_UNITS):
        return ""
    unit, seconds = _UNITS[place]
    return f"{rest // seconds}{unit}" if rest >= seconds else ""
