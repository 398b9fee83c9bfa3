"""Words with more vowels than others."""

TEXT = "It was the best of times, it was the worst of times, it was an age of wisdom " * 60
CALLS = [lambda: ("",), lambda: ("Aaron eats",), lambda: (TEXT,)]


def work(text):
    words = []
    for word in text.lower().split():
        vowels = 0
        consonants = 0
        for letter in word:
            if letter == "a" or letter == "e" or letter == "i" or letter == "o" or letter == "u":
                vowels += 1
            elif letter.isalpha():
                consonants += 1
        if vowels > consonants:
            words.append(word)
    return words
