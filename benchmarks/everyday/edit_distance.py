"""Edit distance of two texts with the whole table."""

CALLS = [lambda: ("", ""), lambda: ("kitten", "sitting"), lambda: ("abcdefgh" * 12, "badcfehg" * 11)]


def work(a, b):
    table = []
    for _ in range(len(a) + 1):
        table.append([0] * (len(b) + 1))
    for i in range(len(a) + 1):
        table[i][0] = i
    for j in range(len(b) + 1):
        table[0][j] = j
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            if a[i - 1] == b[j - 1]:
                cost = 0
            else:
                cost = 1
            table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + cost)
    return table[len(a)][len(b)]
