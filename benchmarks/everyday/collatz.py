"""The start below a limit with the longest way to one."""

CALLS = [lambda: (2,), lambda: (10,), lambda: (3000,)]


def steps(n):
    count = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        count += 1
    return count


def work(limit):
    best = 1
    for n in range(1, limit):
        if steps(n) > steps(best):
            best = n
    return best
