from word_census import census, compose, words_of


def test_compose():
    assert compose(lambda x: x + 1, lambda x: x * 10)(2) == 30


def test_words_of():
    assert words_of("  'Well,' she said (again) -- ...") == ("well", "she", "said", "again", "--")


def test_census():
    text = ["The cat saw the dog.", "", "A dog!"]
    result = census(text)
    assert result == {"a": (3,), "cat": (1,), "dog": (1, 3), "saw": (1,), "the": (1, 1)}
    assert list(result) == ["a", "cat", "dog", "saw", "the"]


def test_least():
    assert census(["x y x", "y z"], least=2) == {"x": (1, 1), "y": (1, 2)}
    assert census([]) == {}


def test_large_text():
    lines = [" ".join(f"W{(i * 17 + k * k * 5) % 211}," for k in range(9)) for i in range(200)]
    result = census(lines, least=4)
    assert len(result) == 211
    assert next(iter(result.items())) == ("w0", (1, 7, 48, 100, 108, 155, 186, 189))
    assert sum(len(found) for found in result.values()) == 1800
    assert list(result.values())[20] == (30, 82, 90, 137, 168, 171, 192, 194, 200)
