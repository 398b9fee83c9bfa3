"""Build a report in plain text, with aligned columns, subtotals and wrapped cells."""

import textwrap


def format_cell(value):
    if value is None:
        return ""
    if isinstance(value, float):
        return "%.2f" % value
    return str(value)


def column_width(rows, index, title, limit):
    """Width of a column: the longest cell, at least the title, at most the limit."""
    widths = [len(title)]
    for row in rows:
        widths.append(len(format_cell(row[index])))
    return min(limit, max(widths))


def is_numeric(rows, index):
    values = [row[index] for row in rows if row[index] is not None]
    return bool(values) and all(isinstance(value, (int, float)) for value in values)


def build_report(titles, rows, group_by=None, limit=20):
    """Return the report as text that ends in a line end.

    Numbers are set to the right, all else to the left; cells longer than `limit` are wrapped. With `group_by` (the
    index of a column), a blank line follows whenever its value changes, after a line with the sums of the numeric
    columns of the group. Rows are taken in the order they have.
    """
    for number, row in enumerate(rows):
        if len(row) != len(titles):
            raise ValueError("row %d has %d cells, not %d" % (number, len(row), len(titles)))
    report = ""
    for index, title in enumerate(titles):
        report += title.ljust(column_width(rows, index, title, limit))
        report += "  " if index < len(titles) - 1 else "\n"
    report += "-" * (sum(column_width(rows, i, t, limit) for i, t in enumerate(titles)) + 2 * (len(titles) - 1)) + "\n"

    group = []
    for position, row in enumerate(rows):
        group = group + [row]
        printed = [row]
        last = position == len(rows) - 1
        if group_by is not None and (last or rows[position + 1][group_by] != row[group_by]):
            totals = []
            for index in range(len(titles)):
                if index != group_by and is_numeric(rows, index):
                    totals.append(sum(member[index] for member in group if member[index] is not None))
                else:
                    totals.append("total" if index == group_by else None)
            printed.append(totals)
            group = []
        for cells in printed:
            wrapped = []
            for index, title in enumerate(titles):
                width = column_width(rows, index, title, limit)
                wrapped.append(textwrap.wrap(format_cell(cells[index]), width) or [""])
            for line_number in range(max(len(lines) for lines in wrapped)):
                line = ""
                for index, title in enumerate(titles):
                    width = column_width(rows, index, title, limit)
                    part = wrapped[index][line_number] if line_number < len(wrapped[index]) else ""
                    line += part.rjust(width) if is_numeric(rows, index) else part.ljust(width)
                    line += "  " if index < len(titles) - 1 else ""
                report += line.rstrip() + "\n"
        if group_by is not None and not group and not last:
            report += "\n"
    return report
