from text_keywords import key_phrases, plain_words, sentences


def test_sentences_and_words():
    assert sentences("One two. Three?  Four!") == ["One two", "Three", "Four"]
    assert plain_words("The (red) fox, - 'x'") == ["the", "red", "fox", "-", "x"]


def test_no_text():
    assert key_phrases("") == []
    assert key_phrases("The and of.") == []


def test_phrases_that_occur_once_are_not_reported():
    assert key_phrases("red fox") == []


def test_part_of_a_longer_phrase_scores_less():
    assert key_phrases("Red fox. The red fox ran.") == [("red fox", 4), ("fox", 1), ("red", 1)]


def test_phrases_do_not_cross_sentences_or_stop_words():
    assert key_phrases("red. fox red of fox") == [("fox", 2), ("red", 2)]


def test_top_and_longest():
    text = "red fox runs. red fox runs."
    assert key_phrases(text, top=1) == [("red fox runs", 6)]
    assert key_phrases(text, longest=1) == [("fox", 2), ("red", 2), ("runs", 2)]


def test_large_text():
    names = "river stone bird the cloud tree of road lamp ship and glass door moon".split()
    parts = []
    for i in range(32):
        parts.append(" ".join(names[(i * j + i + j) % 14] for j in range(1, 9)).capitalize() + ".")
    assert key_phrases(" ".join(parts), top=6) == [
        ("moon", 38),
        ("moon moon moon", 36),
        ("moon moon", 28),
        ("road", 26),
        ("tree", 26),
        ("glass", 25),
    ]
