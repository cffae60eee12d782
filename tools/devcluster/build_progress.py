"""Estimates how long a build still takes, from the packages that the compiler has begun. Pure.

The first estimate comes from the CPU time of a measured build and the number of cores. The rate of this
build then replaces it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from devcluster.progress import in_words

HEARD_FROM, TRUSTED_FROM = 0.02, 0.1
"""The shares of the work after which the rate of this build may raise the estimate, and decides alone."""
SLOW = 2
"""Slow cores took so much longer than the measured ones."""
_DOWNLOADING = "go: downloading "


@dataclass(frozen=True, kw_only=True)
class BuildWork:
    """The measured size of one build with an empty cache."""

    packages: int
    cpu_time: timedelta
    """Of all cores together."""
    shares: Sequence[float] = (0, 1)
    """The shares of the CPU time when equal parts of the packages are begun: the first ones are small."""

    def done(self, begun: int) -> float:
        """The share of the work that is done when so many packages are begun, from 0 to 1."""
        steps = len(self.shares) - 1
        place = min(begun / self.packages, 1) * steps
        whole = min(int(place), steps - 1)
        before, after = self.shares[whole], self.shares[whole + 1]
        return before + (after - before) * (place - whole)

    def at_first(self, cores: int) -> timedelta:
        """The duration on so many cores like those of the measured build."""
        return self.cpu_time / cores


@dataclass(frozen=True, kw_only=True)
class BuildState:
    """The progress of a build at one moment."""

    downloaded: int
    """The number of downloaded modules."""
    begun: int
    """The number of packages that the compiler has begun."""
    compiling_for: timedelta


def read_state(lines: Sequence[str], compiling_for: timedelta) -> BuildState:
    """Read the output of `go build -v`: a line for each module and for each package."""
    downloaded = sum(line.startswith(_DOWNLOADING) for line in lines)
    return BuildState(downloaded=downloaded, begun=len(lines) - downloaded, compiling_for=compiling_for)


def remaining(work: BuildWork, state: BuildState, cores: int) -> timedelta:
    done = work.done(state.begun)
    by_measurement = work.at_first(cores) * (1 - done)
    if done < HEARD_FROM:
        return by_measurement
    by_rate = state.compiling_for * ((1 - done) / done)
    return by_rate if done >= TRUSTED_FROM else max(by_rate, by_measurement)


def announcement(work: BuildWork, cores: int) -> str:
    """The estimate before the build: "about 4 to 7 minutes on 2 cores"."""
    fast = work.at_first(cores).total_seconds() / 60
    least, most = max(round(fast), 1), max(round(fast * SLOW), 2)
    return f"about {least} to {most} minutes on {cores} core{'s' if cores > 1 else ''}"


def sentence(work: BuildWork, state: BuildState, cores: int) -> str:
    """How far the build is, and how long it still takes."""
    left = in_words(remaining(work, state, cores))
    if not state.begun:
        return f"{state.downloaded} modules downloaded, then about {left} of compiling"
    if state.begun >= work.packages:
        return f"{state.begun:,} packages compiled, about to be linked"
    packages = f"{state.begun:,} of about {work.packages:,} packages"
    return f"{work.done(state.begun):.0%} compiled, about {left} left ({packages})"
