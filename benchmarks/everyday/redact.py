"""A text without forbidden words."""

WORDS = [f"bad{n}" for n in range(80)]
TEXT = " ".join(f"word{n} bad{n % 160}" for n in range(600))
CALLS = [lambda: ("", []), lambda: ("a Bad1 dog", ["bad1"]), lambda: (TEXT, WORDS)]


def work(text, forbidden):
    result = ""
    for word in text.split(" "):
        if word.lower() in [each.lower() for each in forbidden]:
            result += "*" * len(word)
        else:
            result += word
        result += " "
    return result.strip()
