"""Thirty functions that nobody has written yet: `stubs/solve.py --from toolbox --repair` has a model write them."""


def chunks(items, size):
    """Return the list items cut into lists of size items each; the last one may be shorter."""


def flatten(nested):
    """Return a flat list of all values in nested, a list that holds values and further lists, at any depth."""


def rotate(items, steps):
    """Return a list with the items moved steps places to the right, those at the end coming to the front."""


def run_lengths(text):
    """Return a list of [character, count] for each run of equal characters in text, in order."""


def transpose(rows):
    """Return the table rows, a list of lists of equal length, with rows and columns exchanged."""


def most_common(words):
    """Return the word that is most often in the list words; of equally common ones the one that comes first."""


def is_anagram(first, second):
    """Return True if both texts have the same letters, equally often; upper case and spaces do not count."""


def caesar(text, shift):
    """Return text with each letter a-z and A-Z moved shift places in the alphabet, around its end; all else stays."""


def roman(number):
    """Return the number, from 1 to 3999, as a Roman numeral in capital letters."""


def from_roman(numeral):
    """Return the number that a Roman numeral in capital letters stands for."""


def primes_below(limit):
    """Return a list of all primes smaller than limit, in rising order."""


def prime_factors(number):
    """Return the prime factors of number, 2 or more, in rising order, each as often as it divides number."""


def digit_sum(number):
    """Return the sum of the decimal digits of number; its sign does not count."""


def collatz_steps(number):
    """Return how many steps it takes from number to 1, where n becomes n / 2 if it is even, else 3 * n + 1."""


def to_base(number, base):
    """Return number, 0 or more, as text in the given base from 2 to 16, with the digits 0-9 and a-f."""


def merge_sorted(first, second):
    """Return one sorted list of all items of two sorted lists."""


def binary_search(items, wanted):
    """Return the index of wanted in the sorted list items without duplicates, or -1 if it is not there."""


def balanced(text):
    """Return True if the brackets ( ) [ ] { } in text are closed in the right order; all else does not count."""


def longest_common_prefix(words):
    """Return the longest text that all words begin with; an empty list has the empty text."""


def title_case(text):
    """Return text with each word, between single spaces, in lower case but for its first letter in upper case."""


def word_counts(text):
    """Return a dict of how often each word is in text, in lower case; words stand between spaces."""


def group_by_length(words):
    """Return a dict from the length, as text, to the list of words that are so long, in their order."""


def second_largest(numbers):
    """Return the second largest of the different numbers in the list, or None if there is none."""


def moving_sums(numbers, size):
    """Return the sums of each size neighbours in numbers, from the left; an empty list if there are fewer numbers."""


def matrix_product(left, right):
    """Return the product of two matrices, each a list of rows."""


def pascal_row(index):
    """Return the row of Pascal's triangle with that index; row 0 is [1], row 1 is [1, 1]."""


def leap_year(year):
    """Return True if the year is a leap year of the Gregorian calendar, otherwise False."""


def clock(seconds):
    """Return a number of seconds as text "H:MM:SS", such as "1:02:05" for 3725."""


def gcd(a, b):
    """Return the greatest common divisor of two whole numbers, 0 or more; gcd(0, 0) is 0."""


def spiral(rows):
    """Return the values of a table in a spiral: first row, last column down, last row back, up, and so on inwards."""
