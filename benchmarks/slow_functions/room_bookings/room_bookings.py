"""Bookings of rooms as intervals of minutes, and the free time between them."""


def overlaps(a, b):
    return a[0] <= b[1] and b[0] <= a[1]


def busy_blocks(bookings, setup=0):
    """Merge bookings (start, end, party) into busy blocks (start, end, parties), in order of start.

    Blocks that touch are one block. `setup` minutes are needed before every booking. Cancelled bookings have the
    party None. The parties of a block are sorted and named once.
    """
    blocks = []
    for start, end, party in bookings:
        if party is None:
            continue
        if end < start:
            raise ValueError("booking of %s ends before it starts" % party)
        blocks.append((max(0, start - setup), end, [party]))

    merged = True
    while merged:
        merged = False
        for i in range(len(blocks)):
            for j in range(i + 1, len(blocks)):
                if overlaps(blocks[i], blocks[j]):
                    first, second = blocks[i], blocks[j]
                    joined = (min(first[0], second[0]), max(first[1], second[1]), first[2] + second[2])
                    blocks = blocks[:i] + [joined] + blocks[i + 1 : j] + blocks[j + 1 :]
                    merged = True
                    break
            if merged:
                break

    result = []
    for start, end, parties in blocks:
        unique = []
        for party in parties:
            if party not in unique:
                unique.append(party)
        result.append((start, end, sorted(unique)))
    return sorted(result, key=lambda block: block[0])


def free_gaps(bookings, opens, closes, at_least=1, setup=0):
    """Return the free intervals between two times that last at least so many minutes."""
    gaps = []
    cursor = opens
    for start, end, _ in busy_blocks(bookings, setup):
        if start - cursor >= at_least and start <= closes:
            gaps.append((cursor, start))
        cursor = max(cursor, end)
    if closes - cursor >= at_least:
        gaps.append((cursor, closes))
    return gaps
