"""Primes below a limit."""

CALLS = [lambda: (0,), lambda: (30,), lambda: (1500,)]


def is_prime(n):
    if n < 2:
        return False
    for d in range(2, n):
        if n % d == 0:
            return False
    return True


def work(limit):
    primes = []
    for n in range(limit):
        if is_prime(n):
            primes.append(n)
    return primes
