import pytest
from note_search import Note, NoteSearch, words_of

NOTES = [
    Note("Bread", "Flour and water, salt and time.", ["food"]),
    Note("Water bill", "Pay the bill for the water in May.", ["home"]),
    Note("Soup", "Water, carrots, salt.", ["food", "home"]),
    Note("Old soup", "Water and bones", ["food"], archived=True),
]


def titles(hits):
    return [title for title, _ in hits]


def test_words():
    assert words_of("The Cat, and 2 dogs!") == ["cat", "2", "dogs"]


def test_title_counts_more():
    assert titles(NoteSearch(NOTES).search("water"))[0] == "Water bill"


def test_score():
    assert NoteSearch(NOTES).search("flour") == [("Bread", pytest.approx(0.3219, abs=1e-4))]


def test_any_word_and_exclusion():
    search = NoteSearch(NOTES)
    assert titles(search.search("salt bill")) == ["Water bill", "Soup", "Bread"]
    assert titles(search.search("salt -carrots")) == ["Bread"]


def test_tag_limit_and_archive():
    search = NoteSearch(NOTES)
    assert titles(search.search("water", tag="food")) == ["Soup", "Bread"]
    assert len(search.search("water", limit=1)) == 1
    assert search.search("bones") == []


def test_nothing_to_search():
    assert NoteSearch([]).search("x") == []
    assert NoteSearch(NOTES).search("the") == []
    assert NoteSearch(NOTES).search("") == []
    assert NoteSearch(NOTES).tags() == {"food": 3, "home": 2}


def test_notes_may_change_between_searches():
    notes = [Note("One", "apple")]
    search = NoteSearch(notes)
    assert titles(search.search("pear")) == []
    notes.append(Note("Two", "pear"))
    assert titles(search.search("pear")) == ["Two"]


def test_large_collection():
    names = ["river", "stone", "bird", "cloud", "tree", "road", "lamp", "ship", "glass", "door", "moon"]
    notes = [
        Note(
            f"Note {i:02d} {names[i % 11]}",
            " ".join(names[(i * j + j) % 11] for j in range(3, 11) if j != i % 9),
            [f"t{i % 3}"],
        )
        for i in range(34)
    ]
    hits = NoteSearch(notes).search("stone cloud -lamp", limit=5)
    assert titles(hits) == ["Note 12 stone", "Note 25 cloud", "Note 08 glass", "Note 24 bird", "Note 02 bird"]
    assert [score for _, score in hits] == pytest.approx([0.2575, 0.1906, 0.0896, 0.056, 0.0509], abs=1e-4)
