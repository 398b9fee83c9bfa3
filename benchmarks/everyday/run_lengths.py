"""Run-length encoding."""

TEXT = "".join("abcd"[n % 4] * (n % 9 + 1) for n in range(900))
CALLS = [lambda: ("",), lambda: ("aaab",), lambda: (TEXT,)]


def work(text):
    result = ""
    i = 0
    while i < len(text):
        count = 1
        while i + 1 < len(text) and text[i] == text[i + 1]:
            count += 1
            i += 1
        result = result + text[i] + str(count)
        i += 1
    return result
