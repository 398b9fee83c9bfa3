"""Statistics over a moving window of sensor values."""


def mean(values):
    return sum(values) / float(len(values))


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2.0


def spread(values):
    """Median of the absolute distances from the median."""
    return median([abs(value - median(values)) for value in values])


def find_spikes(values, window=15, factor=4.0):
    """Return the (index, value) of values that stand out from the `window` values before them.

    A value stands out when its distance from the median of the window is more than `factor` times the spread of the
    window, or any distance at all when the spread is 0. Gaps (None) are neither judged nor part of a window. Until
    half of the window is filled, nothing is judged. Spikes do not enter the windows of later values.
    """
    if window < 2:
        raise ValueError("a window holds at least two values")
    spikes = []
    for index in range(len(values)):
        value = values[index]
        if value is None:
            continue
        known = []
        for position in range(index):
            if values[position] is None:
                continue
            if position in [spike[0] for spike in spikes]:
                continue
            known.append(values[position])
        recent = known[-window:]
        if len(recent) < window / 2.0:
            continue
        distance = abs(value - median(recent))
        if spread(recent) == 0:
            if distance > 0:
                spikes.append((index, value))
        elif distance > factor * spread(recent):
            spikes.append((index, value))
    return spikes


def summary(values):
    """Return the count, mean and median of the values that are there, or None."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return {"count": len(known), "mean": mean(known), "median": median(known)}
