"""The thirty functions of the larger example: that their cases are right, and what the program does with them."""

from __future__ import annotations

import ast
import copy
import runpy
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
STUBS = (EXAMPLES / "toolbox" / "stubs.py").read_text()
CASES = runpy.run_path(str(EXAMPLES / "toolbox" / "cases.py"))["CASES"]
FUNCTIONS = {
    node.name: ast.get_source_segment(STUBS, node)
    for node in ast.parse(STUBS).body
    if isinstance(node, ast.FunctionDef)
}
RIGHT = {
    "chunks": "return [items[at:at + size] for at in range(0, len(items), size)]",
    "flatten": "return sum((flatten(one) if isinstance(one, list) else [one] for one in nested), [])",
    "rotate": "at = -steps % len(items) if items else 0\nreturn items[at:] + items[:at]",
    "run_lengths": "from itertools import groupby\nreturn [[one, len(list(run))] for one, run in groupby(text)]",
    "transpose": "return [list(column) for column in zip(*rows)]",
    "most_common": "return max(words, key=words.count)",
    "is_anagram": "return sorted(first.lower().replace(' ', '')) == sorted(second.lower().replace(' ', ''))",
    "caesar": """
        def moved(one):
            start = ord('a') if one.islower() else ord('A')
            return chr(start + (ord(one) - start + shift) % 26) if one.isascii() and one.isalpha() else one
        return ''.join(map(moved, text))""",
    "roman": """
        text = ''
        for value, sign in zip((1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1),
                               'M CM D CD C XC L XL X IX V IV I'.split()):
            text += number // value * sign
            number %= value
        return text""",
    "from_roman": """
        values = [dict(I=1, V=5, X=10, L=50, C=100, D=500, M=1000)[one] for one in numeral]
        return sum(-one if one < max(values[at:]) else one for at, one in enumerate(values))""",
    "primes_below": "return [n for n in range(2, limit) if all(n % d for d in range(2, n))]",
    "prime_factors": """
        for divisor in range(2, number + 1):
            if number % divisor == 0:
                rest = number // divisor
                return [divisor] + (prime_factors(rest) if rest > 1 else [])""",
    "digit_sum": "return sum(map(int, str(abs(number))))",
    "collatz_steps": "return 0 if number == 1 else 1 + collatz_steps(3 * number + 1 if number % 2 else number // 2)",
    "to_base": "rest, digit = divmod(number, base)\n"
    "return (to_base(rest, base) if rest else '') + '0123456789abcdef'[digit]",
    "merge_sorted": "return sorted(first + second)",
    "binary_search": "return items.index(wanted) if wanted in items else -1",
    "balanced": """
        text = ''.join(one for one in text if one in '()[]{}')
        while any(pair in text for pair in ('()', '[]', '{}')):
            text = text.replace('()', '').replace('[]', '').replace('{}', '')
        return not text""",
    "longest_common_prefix": "import os\nreturn os.path.commonprefix(words)",
    "title_case": "return ' '.join(word.capitalize() for word in text.split(' '))",
    "word_counts": "words = text.lower().split()\nreturn {word: words.count(word) for word in words}",
    "group_by_length": "return {str(len(word)): [one for one in words if len(one) == len(word)] for word in words}",
    "second_largest": "return (sorted(set(numbers))[-2:-1] or [None])[0]",
    "moving_sums": "return [sum(numbers[at:at + size]) for at in range(len(numbers) - size + 1)]",
    "matrix_product": "return [[sum(a * b for a, b in zip(row, column)) for column in zip(*right)] for row in left]",
    "pascal_row": "import math\nreturn [math.comb(index, at) for at in range(index + 1)]",
    "leap_year": "import calendar\nreturn calendar.isleap(year)",
    "clock": "return f'{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}'",
    "gcd": "import math\nreturn math.gcd(a, b)",
    "spiral": "return rows and list(rows[0]) + spiral([list(row) for row in zip(*rows[1:])][::-1])",
}


def test_there_are_thirty_and_each_has_cases():
    assert list(FUNCTIONS) == list(CASES) == list(RIGHT)
    assert len(FUNCTIONS) == 30
    assert all(len(cases) >= 3 for cases in CASES.values())


@pytest.mark.parametrize("name", CASES)
def test_cases_are_met_by_a_right_body_and_not_by_the_stub(name):
    names: dict[str, object] = {}
    exec(f"{FUNCTIONS[name]}\n{textwrap.indent(textwrap.dedent(RIGHT[name]), '    ')}", names)
    for arguments, expected in CASES[name]:
        result = names[name](*copy.deepcopy(arguments))
        assert (type(result), result) == (type(expected), expected), arguments
    assert any(expected is not None for _, expected in CASES[name])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--from", "nowhere"], "there are no functions in"),
        (["--from", "toolbox", "add"], "there is no function add: there are chunks, flatten"),
        (["--from", "toolbox", "--repair", "--model", "local"], "cannot be told what was wrong"),
    ],
)
def test_what_cannot_be_asked_is_refused(words, said):
    argv = [sys.executable, EXAMPLES / "stubs" / "solve.py", *words]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 2
    assert said in done.stderr
