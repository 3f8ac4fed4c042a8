# SPDX-License-Identifier: Apache-2.0
"""What pairs of runs say: the median of their ratios, its 95 % interval,
and whether that is enough for a claim.

The interval is the percentile interval of the bootstrap (B. Efron, R. J. Tibshirani: An Introduction to the
Bootstrap, Chapman & Hall 1993, section 13.3): pairs are drawn with replacement, as many as there are, and the
statistic is taken of each such draw; of the B values in order, those at B * 0.025 and B * 0.975 are the ends.
Of several workloads each one's pairs are drawn by themselves (strata), so the interval is about these workloads
and not about others. The draws begin at a fixed seed: the same values give the same page."""

import functools
import math
import random
import statistics
from dataclasses import dataclass

DRAWS = 2000
SEED = 17
LEVEL = 0.95
# The range of n values misses their true median with probability 2 ** (1 - n):
# below six there is no 95 % interval.
FEWEST = 6
# A difference of less than this takes more pairs.
SMALL, FEWEST_OF_SMALL = 0.05, 10
REACHED, MISSED, NOT_KNOWN = "reached", "missed", "not known"


@dataclass(frozen=True)
class Estimate:
    middle: float
    low: float
    high: float
    pairs: float  # of the workload that has fewest; infinite: counted, not measured

    def enough(self, limit):
        """Pairs, for a comparison with the limit."""
        return self.pairs >= (FEWEST_OF_SMALL if abs(self.middle - limit) < SMALL else FEWEST)

    def verdict(self, most):
        """Of the goal that it is at most so much: only a whole interval on one side decides."""
        if not self.enough(most) or self.low <= most < self.high:
            return NOT_KNOWN
        return REACHED if self.high <= most else MISSED

    def mark(self, other=1.0):
        """What is said of a difference from the other that the interval does not show."""
        same = self.low == self.high == other  # compared with itself
        return "" if same or self.enough(other) and not self.low <= other <= self.high else " " + NOT_KNOWN

    def interval(self, form="{:.3f}"):
        if self.pairs == math.inf:
            return form.format(self.middle)
        few = f"{self.pairs:.0f} pair{'s' if self.pairs > 1 else ''}"
        between = few if self.pairs < FEWEST else f"{form.format(self.low)} to {form.format(self.high)}"
        return f"{form.format(self.middle)} [{between}]"

    def percent(self):
        """The interval as differences from 1: 1.05 is +5.0 %."""
        return Estimate(
            *((value - 1) * 100 for value in (self.middle, self.low, self.high)), self.pairs
        ).interval("{:+.1f} %")


def exact(value):
    """What needs no interval: bytes, counts."""
    return Estimate(value, value, value, math.inf)


def all_of(verdicts):
    """Of a goal that each of several must reach."""
    verdicts = set(verdicts)
    return MISSED if MISSED in verdicts else NOT_KNOWN if NOT_KNOWN in verdicts else REACHED


def second_half(iterations):
    return iterations[len(iterations) // 2 :]


def steady(iterations):
    """The median of the second half: compilers work less there."""
    return statistics.median(second_half(iterations))


def estimate(*samples):
    """The median of the pairs' ratios; of several workloads the geometric mean of their medians. None:
    there is no pair."""
    return _estimate(tuple(tuple(sample) for sample in samples)) if samples and all(samples) else None


@functools.lru_cache(maxsize=None)
def _estimate(samples):
    pairs = min(len(sample) for sample in samples)
    middle = _mean([statistics.median(sample) for sample in samples])
    if pairs < FEWEST:
        return Estimate(middle, 0.0, math.inf, pairs)
    if all(min(sample) == max(sample) for sample in samples):
        return Estimate(middle, middle, middle, pairs)
    source = random.Random(SEED)
    drawn = sorted(
        _mean([statistics.median(source.choices(sample, k=len(sample))) for sample in samples])
        for _ in range(DRAWS)
    )
    tail = round(DRAWS * (1 - LEVEL) / 2)
    return Estimate(middle, drawn[tail - 1], drawn[DRAWS - tail - 1], pairs)


def _mean(medians):
    return medians[0] if len(medians) == 1 else statistics.geometric_mean(medians)
