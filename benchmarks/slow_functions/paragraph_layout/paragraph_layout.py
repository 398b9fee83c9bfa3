"""Break paragraphs into lines so that the right margin is as even as possible."""


def badness(slack: int, last: bool) -> int:
    """Return how bad so many free columns at the end of a line are; the last line may be short."""
    if last:
        return 0
    return slack**3


def layout(text: str, width: int, indent: int = 0) -> list[str]:
    """Return the lines of a paragraph with the smallest total badness, fewest lines among equals.

    The first line is indented. A word longer than the line stands alone on a line of its own, which costs nothing.
    """
    if width - indent < 1:
        raise ValueError(f"no room in {width} columns with an indent of {indent}")
    words = text.split()
    count = len(words)
    if count == 0:
        return []
    # best[i]: cost, number of lines and the lines themselves of words[i:]
    best: list[tuple[int, int, list[str]]] = [(0, 0, [])] * (count + 1)
    for start in range(count - 1, -1, -1):
        options = []
        for end in range(start + 1, count + 1):
            line = " ".join(words[start:end])
            if start == 0:
                line = " " * indent + line
            if len(line) > width:
                if end == start + 1:
                    cost, lines, rest = best[end]
                    options.append((cost, lines + 1, [line] + rest))
                continue
            cost, lines, rest = best[end]
            slack = width - len(line)
            options.append((cost + badness(slack, end == count), lines + 1, [line] + rest))
        options.sort(key=lambda option: (option[0], option[1], len(option[2][0])))
        best[start] = options[0]
    return best[0][2]


def justify(lines: list[str], width: int) -> list[str]:
    """Spread the blanks of all lines but the last, from the left, so that each fills the width."""
    result = []
    for line in lines[:-1]:
        words = line.split()
        missing = width - len(line)
        if len(words) < 2 or missing <= 0:
            result.append(line)
            continue
        lead = len(line) - len(line.lstrip())
        gaps = len(words) - 1
        blanks = [1 + missing // gaps + (1 if i < missing % gaps else 0) for i in range(gaps)]
        result.append(" " * lead + "".join(w + " " * b for w, b in zip(words, blanks + [0])))
    return result + lines[-1:]
