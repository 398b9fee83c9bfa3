"""Tables of Markdown, from rows of anything."""

import re


def clean(cell):
    """Return a cell as one line in which nothing ends the cell."""
    text = str(cell)
    text = re.sub(r"\s+", " ", text)
    text = text.replace("|", "\\|")
    return text.strip()


def is_number(cell):
    """Whether a cell looks like a number."""
    return re.match(r"^-?[\d,]+(\.\d+)?%?$", clean(cell)) is not None


def column(rows, index):
    """Return one column; missing cells are empty."""
    return [row[index] if index < len(row) else "" for row in rows]


def width(header, rows, index):
    """Return how wide a column must be."""
    return max([3] + [len(clean(cell)) for cell in [header[index]] + column(rows, index)])


def is_numeric(rows, index):
    """Whether all cells of a column that are not empty are numbers."""
    cells = [cell for cell in column(rows, index) if clean(cell) != ""]
    return len(cells) > 0 and all([is_number(cell) for cell in cells])


def pad(cell, size, right):
    """Return a cell with blanks up to the size."""
    text = clean(cell)
    while len(text) < size:
        if right:
            text = " " + text
        else:
            text = text + " "
    return text


def to_markdown(header, rows):
    """Return the table; columns of numbers are set to the right."""
    text = "|"
    for index in range(len(header)):
        text += " " + pad(header[index], width(header, rows, index), is_numeric(rows, index)) + " |"
    text += "\n|"
    for index in range(len(header)):
        dashes = "-" * (width(header, rows, index) + 1)
        text += dashes + ":|" if is_numeric(rows, index) else "-" + dashes + "|"
    text += "\n"
    for row in rows:
        text += "|"
        for index in range(len(header)):
            cell = row[index] if index < len(row) else ""
            text += " " + pad(cell, width(header, rows, index), is_numeric(rows, index)) + " |"
        text += "\n"
    return text
