"""Is a row of figures flat? A slope is fitted (Theil-Sen: the median of the slopes of all pairs, so that single spikes do not bend
it) and the growth that it means over the whole soak is held against a bound."""
import dataclasses
import math
import statistics

# Growth over the whole soak that is still called flat, by the figure's unit. Counts are taken at rest: they are exact.
KIB = {'supervisor': 2048, 'maker': 1024, 'zygote': 4096, 'machine': 32768}
COUNT = {'supervisor': 0.5, 'maker': 0.5, 'zygote': 0.5, 'jailed': 0.5, 'cgroups': 0.5, 'machine': 40}


@dataclasses.dataclass
class Row:
    figure: str
    first: float
    last: float
    per_1000: float  # fitted slope, per 1,000 jails
    growth: float    # fitted slope times all jails
    bound: float

    @property
    def flat(self):
        return self.growth <= self.bound


def slope(points):
    """Theil-Sen slope of [(x, y)]."""
    slopes = [(y2 - y1) / (x2 - x1) for i, (x1, y1) in enumerate(points) for x2, y2 in points[i + 1:] if x2 != x1]
    return statistics.median(slopes) if slopes else 0.0


def bound_of(figure):
    table = KIB if figure.endswith('(KiB)') else COUNT
    return table[figure.split()[0].rstrip(':')]


def fit(samples, jails):
    """Rows of [(jails so far, {figure: number})] for every figure that each sample has."""
    rows = []
    for figure in samples[0][1]:
        points = [(x, row[figure]) for x, row in samples if figure in row]
        if len(points) < len(samples):
            continue
        fitted = slope(points)
        rows.append(Row(figure, points[0][1], points[-1][1], fitted * 1000, fitted * jails, bound_of(figure)))
    return rows


def prove():
    """The judge itself: a noisy level row passes, one that gains twice its bound does not. Runs before every soak."""
    for figure in ('supervisor RSS (KiB)', 'supervisor descriptors', 'machine: slab, unreclaimable (KiB)'):
        bound = bound_of(figure)
        for gain, flat in ((0, True), (2 * bound + 1, False)):
            rows = fit([(n * 100, {figure: 5000 + gain * n / 20 + bound / 4 * (n * 7 % 5 - 2) / 2}) for n in range(21)], 2000)
            assert rows[0].flat is flat, (figure, gain, rows)


def percentile(values, share):
    """The smallest value that at least `share` of all values do not exceed."""
    ranked = sorted(values)
    return ranked[max(0, math.ceil(len(ranked) * share) - 1)] if ranked else math.nan
