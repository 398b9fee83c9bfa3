"""Product of two matrices."""

A = [[(i * j) % 7 for j in range(32)] for i in range(32)]
CALLS = [lambda: ([[1, 2]], [[3], [4]]), lambda: ([[2]], [[5]]), lambda: (A, A)]


def work(a, b):
    result = [[0 for _ in range(len(b[0]))] for _ in range(len(a))]
    for i in range(len(a)):
        for j in range(len(b[0])):
            for k in range(len(b)):
                result[i][j] += a[i][k] * b[k][j]
    return result
