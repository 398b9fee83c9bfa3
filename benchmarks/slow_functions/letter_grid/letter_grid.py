"""Find words on a board of letters by walking to neighbouring fields, each field once per word."""

SCORES = {3: 1, 4: 1, 5: 2, 6: 3, 7: 5}


def load_words(text, shortest=3):
    """Return the words of a text in capitals, in order, once each, without those that are too short."""
    seen = {}
    for word in text.upper().split():
        if len(word) >= shortest and word.isalpha():
            seen[word] = True
    return list(seen)


def neighbours(board, row, column):
    found = []
    for dr in (-1, 0, 1):
        for dc in (-1, 0, 1):
            r, c = row + dr, column + dc
            if (dr or dc) and 0 <= r < len(board) and 0 <= c < len(board[r]):
                found.append((r, c))
    return found


def find_words(board, words, longest=7):
    """Return {word: path} for the words that can be walked; the path is the first in reading order.

    A field may hold several letters ("QU"). Words of more than `longest` letters are not looked for.
    """
    candidates = [word for word in words if len(word) <= longest]
    found = {}

    def walk(path, text):
        if text in candidates and text not in found:
            found[text] = list(path)
        hopeful = [word for word in candidates if word.startswith(text) and word != text]
        if not hopeful:
            return
        row, column = path[-1]
        for r, c in neighbours(board, row, column):
            if (r, c) not in path:
                walk(path + [(r, c)], text + board[r][c])

    for row in range(len(board)):
        for column in range(len(board[row])):
            walk([(row, column)], board[row][column])
    return dict(sorted(found.items()))


def score(found):
    """Return the points of the words found; words of eight letters and more are worth eleven."""
    return sum(SCORES.get(len(word), 11 if len(word) > 7 else 0) for word in found)
