"""Ten functions that nobody has written yet: `solve.py` has a model write them."""


def add(a, b):
    """Return the sum of a and b."""


def is_even(n):
    """Return True if n is even, otherwise False."""


def reverse(s):
    """Return the string s reversed."""


def maximum(numbers):
    """Return the largest number in the list numbers."""


def count_vowels(s):
    """Return the number of vowels (a, e, i, o, u) in the string s."""


def factorial(n):
    """Return the factorial of n."""


def fib(n):
    """Return the n-th Fibonacci number, where fib(0) is 0 and fib(1) is 1."""


def is_palindrome(s):
    """Return True if the string s reads the same forwards and backwards."""


def unique(items):
    """Return a list of the items without duplicates, in the order of their first appearance."""


def fizzbuzz(n):
    """Return "FizzBuzz" if n is divisible by 3 and 5, "Fizz" if by 3, "Buzz" if by 5, otherwise str(n)."""
