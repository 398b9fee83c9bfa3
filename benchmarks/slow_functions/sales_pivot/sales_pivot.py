"""A small pivot table over rows of delimited text."""

MISSING = ("", "n/a", "-")


def read_rows(text, delimiter=";"):
    """Read delimited text with a header line into a list of dicts; blank lines are skipped."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return []
    header = [name.strip() for name in lines[0].split(delimiter)]
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        cells = [cell.strip() for cell in line.split(delimiter)]
        if len(cells) != len(header):
            raise ValueError("line %d has %d cells, not %d" % (number, len(cells), len(header)))
        rows.append(dict(zip(header, cells)))
    return rows


def to_number(cell):
    """Read a number in the German manner: 1.234,50 is 1234.5."""
    cell = cell.strip()
    if cell.lower() in MISSING:
        return None
    return float(cell.replace(".", "").replace(",", "."))


def pivot(rows, down, across, value, how="sum"):
    """Return a table (list of lists) of `value` by the columns `down` and `across`.

    The first line holds the labels; the last column and the last line hold the totals. A combination that does not
    occur is None. `how` is sum, mean or count; missing values are left out of all three.
    """
    if how not in ("sum", "mean", "count"):
        raise ValueError("unknown aggregate %r" % how)
    down_labels = sorted(set(row[down] for row in rows))
    across_labels = sorted(set(row[across] for row in rows))

    def aggregate(selected):
        numbers = [to_number(row[value]) for row in selected]
        numbers = [number for number in numbers if number is not None]
        if how == "count":
            return len(numbers) or None
        if not numbers:
            return None
        if how == "sum":
            return round(sum(numbers), 2)
        return round(sum(numbers) / len(numbers), 2)

    table = [[down] + across_labels + ["total"]]
    for down_label in down_labels:
        line = [down_label]
        for across_label in across_labels:
            selected = [row for row in rows if row[down] == down_label and row[across] == across_label]
            line.append(aggregate(selected))
        line.append(aggregate([row for row in rows if row[down] == down_label]))
        table.append(line)
    last = ["total"]
    for across_label in across_labels:
        last.append(aggregate([row for row in rows if row[across] == across_label]))
    last.append(aggregate(rows))
    table.append(last)
    return table
