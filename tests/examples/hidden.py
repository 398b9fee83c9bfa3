"""What nothing that samples has seen: right bodies of the ten functions, cases made by them, and wrong bodies."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

RIGHT: dict[str, str] = {
    "add": "return a + b",
    "is_even": "return n % 2 == 0",
    "reverse": "return s[::-1]",
    "maximum": "return max(numbers)",
    "count_vowels": "return sum(c in 'aeiou' for c in s)",
    "factorial": "result = 1\nfor k in range(2, n + 1):\n    result *= k\nreturn result",
    "fib": "a, b = 0, 1\nfor _ in range(n):\n    a, b = b, a + b\nreturn a",
    "is_palindrome": "return s == s[::-1]",
    "unique": "return list(dict.fromkeys(items))",
    "fizzbuzz": "return 'Fizz' * (n % 3 == 0) + 'Buzz' * (n % 5 == 0) or str(n)",
}

WRONG: dict[str, list[str]] = {
    "add": [
        "return a - b", "return a * b", "return a", "return abs(a) + abs(b)", "return max(a, b)", "print(a + b)",
        "return str(a + b)", "return float(a + b)", "return a + b + 1", "return a | b", "return 3", "return a ^ b",
    ],
    "is_even": [
        "return n % 2 == 1", "return n % 2", "return True", "return n == 2", "return n % 4 == 0",
        "return n > 0 and n % 2 == 0", "return not n % 2 or None", "return int(n % 2 == 0)", "return n & 1",
        "return n in (0, 2, -4)",
    ],
    "reverse": [
        "return s", "return s[::-2]", "return s[:-1]", "return s[-1:0:-1]", "return reversed(s)",
        "return list(s[::-1])", "return ''.join(sorted(s, reverse=True))", "return s[1:] + s[:1]",
        "return s[::-1].strip()", "return s[::-1].lower()", "return ' '.join(s.split()[::-1])",
    ],
    "maximum": [
        "return numbers[0]", "return numbers[-1]", "return min(numbers)", "return sorted(numbers)[0]",
        "m = 0\nfor x in numbers:\n    if x > m:\n        m = x\nreturn m",
        "return len(numbers)", "return sum(numbers)", "return max(numbers, key=abs)",
        "return max(numbers[1:] or numbers)",
        "return numbers[len(numbers) // 2]", "return max(numbers[:-1] or numbers)",
        "for x in numbers:\n    if x >= numbers[0]:\n        return x",
    ],
    "count_vowels": [
        "return len(s)", "return s.count('a')", "return len(set(s) & set('aeiou'))", "return s.count('aeiou')",
        "return sum(c in 'aeio' for c in s)", "return sum(c not in 'aeiou' for c in s)",
        "return s.count('a') + s.count('e')",
        "for c in s:\n    if c in 'aeiou':\n        return 1\nreturn 0", "return sum(c in 'aeiouy' for c in s)",
        "return [c for c in s if c in 'aeiou']", "return sum(c in 'aeou' for c in s)",
    ],
    "factorial": [
        "return n", "return n * (n - 1)", "return sum(range(n + 1))", "return 2 ** n", "return n * n",
        "r = 1\nfor k in range(1, n):\n    r *= k\nreturn r", "r = 0\nfor k in range(1, n + 1):\n    r *= k\nreturn r",
        "return n * factorial(n - 1)", "return 0 if n == 0 else 1 if n == 1 else n * factorial(n - 1)",
        "r = 1.0\nfor k in range(1, n + 1):\n    r *= k\nreturn r", "return 1 if n < 2 else n * factorial(n - 2)",
    ],
    "fib": [
        "return n", "return 1 if n < 2 else fib(n - 1) + fib(n - 2)", "return fib(n - 1) + fib(n - 2)",
        "return n if n < 2 else fib(n - 1) + fib(n - 3)", "return n if n < 3 else fib(n - 1) + fib(n - 2)",
        "a, b = 0, 1\nfor _ in range(n):\n    a, b = b, a + b\nreturn b",
        "a, b = 0, 1\nfor _ in range(n - 1):\n    a, b = b, a + b\nreturn a",
        "a, b = 0, 1\nr = []\nfor _ in range(n):\n    r.append(a)\n    a, b = b, a + b\nreturn r",
        "return round(1.6 ** n / 2.23)", "return 0 if n == 0 else 1",
    ],
    "is_palindrome": [
        "return True", "return False", "return s[0] == s[-1]", "return not s or s[0] == s[-1]",
        "return s.lower() == s.lower()[::-1]", "return s.replace(' ', '') == s[::-1].replace(' ', '')",
        "return len(s) < 2 or s[1:-1] == s[1:-1][::-1]", "return sorted(s) == sorted(s[::-1])",
        "return s == reversed(s)",
        "return s[:2] == s[-2:][::-1]", "return len(s) > 0 and s == s[::-1]",
        "return s[: len(s) // 2] == s[len(s) // 2 :]",
        "for a, b in zip(s, s[::-1]):\n    if a == b:\n        return True\nreturn False",
        "return len(s) > 1 and s == s[::-1]",
    ],
    "unique": [
        "return items", "return list(set(items))", "return sorted(set(items))", "return set(items)",
        "return [x for x in items if items.count(x) == 1]", "return list(dict.fromkeys(items[::-1]))",
        "return list(dict.fromkeys(items[::-1]))[::-1]",
        "return [x for n, x in enumerate(items) if n == 0 or x != items[n - 1]]",
        "return tuple(dict.fromkeys(items))", "return list(dict.fromkeys(items))[:3]",
        "return list(dict.fromkeys(map(str, items)))",
    ],
    "fizzbuzz": [
        "return str(n)", "return n", "return 'Fizz'",
        "return 'Fizz' if n % 3 == 0 else 'Buzz' if n % 5 == 0 else str(n)",
        "return 'Buzz' if n % 5 == 0 else 'Fizz' if n % 3 == 0 else str(n)",
        "return 'Fizz' * (n % 3 == 0) + 'Buzz' * (n % 5 == 0) or n",
        "return 'Fizz' * (n % 3 == 0) + 'Buzz' * (n % 5 == 0)",
        "return 'FizzBuzz' if n == 15 else 'Fizz' if n % 3 == 0 else 'Buzz' if n % 5 == 0 else str(n)",
        "return ('Fizz' * (n % 3 == 0) + 'Buzz' * (n % 5 == 0) or str(n)).lower()",
        "return 'FizzBuzz' if n % 3 == 0 or n % 5 == 0 else str(n)",
        "return 'Fizz' if n == 3 else 'Buzz' if n == 5 else 'FizzBuzz' if n == 15 else str(n)",
    ],
}  # fmt: skip


def text(rng: random.Random, letters: str) -> str:
    return "".join(rng.choices(letters, k=rng.randrange(12)))


ARGUMENTS: dict[str, Callable[[random.Random], list[Any]]] = {
    "add": lambda rng: [rng.randrange(-(10**12), 10**12), rng.randrange(-99, 99)],
    "is_even": lambda rng: [rng.randrange(-1000, 1000)],
    "reverse": lambda rng: [text(rng, "abcXYZ 01é\n")],
    "maximum": lambda rng: [[rng.randrange(-50, 50) for _ in range(rng.randrange(1, 9))]],
    "count_vowels": lambda rng: [text(rng, "aeioubcdfgxyz ")],
    "factorial": lambda rng: [rng.randrange(60)],
    "fib": lambda rng: [rng.randrange(19)],
    "is_palindrome": lambda rng: [(half := text(rng, "abA ")) + rng.choice([half[::-1], half, half[::-1][1:], "b"])],
    "unique": lambda rng: [[rng.choice([*range(-6, 6), "a", "b"]) for _ in range(rng.randrange(10))]],
    "fizzbuzz": lambda rng: [rng.randrange(1, 400)],
}


PARAMETERS = {
    "add": "a, b", "is_even": "n", "reverse": "s", "maximum": "numbers", "count_vowels": "s", "factorial": "n",
    "fib": "n", "is_palindrome": "s", "unique": "items", "fizzbuzz": "n",
}  # fmt: skip


def program(name: str, body: str) -> str:
    return f"def {name}({PARAMETERS[name]}):\n" + "".join(f"    {line}\n" for line in body.split("\n"))


def hidden_cases(name: str, count: int = 60) -> list[tuple[list[Any], Any]]:
    """Further calls, drawn at random, and what the right body returns."""
    rng = random.Random(f"hidden {name}")
    names: dict[str, Any] = {}
    exec(program(name, RIGHT[name]), names)
    calls = [ARGUMENTS[name](rng) for _ in range(count)]
    return [(arguments, names[name](*arguments)) for arguments in calls]
