from letter_grid import find_words, load_words, neighbours, score

BOARD = ["CAT", "ORS", "DEN"]


def test_load_words():
    assert load_words("cat Dog cat at x2y") == ["CAT", "DOG"]


def test_neighbours_of_a_corner():
    assert neighbours(BOARD, 0, 0) == [(0, 1), (1, 0), (1, 1)]


def test_words_and_paths():
    assert find_words(BOARD, ["STAR", "CORD", "NONE"]) == {
        "CORD": [(0, 0), (1, 0), (1, 1), (2, 0)],
        "STAR": [(1, 2), (0, 2), (0, 1), (1, 1)],
    }


def test_a_field_is_used_once():
    assert find_words(["AB"], ["ABA", "AB"]) == {"AB": [(0, 0), (0, 1)]}


def test_fields_of_several_letters():
    assert find_words([["QU", "I"], ["T", "E"]], ["QUITE", "QUIET"]) == {
        "QUIET": [(0, 0), (0, 1), (1, 1), (1, 0)],
        "QUITE": [(0, 0), (0, 1), (1, 0), (1, 1)],
    }


def test_too_long_and_empty():
    assert find_words(BOARD, ["STAR"], longest=3) == {}
    assert find_words([], ["STAR"]) == {}
    assert find_words(BOARD, []) == {}


def test_first_path_in_reading_order():
    assert find_words(["ATA"], ["TA"]) == {"TA": [(0, 1), (0, 0)]}


def test_score():
    assert score({"CAT": [], "STARS": [], "STARTING": []}) == 14
    assert score({}) == 0


def test_large_board():
    board = ["STRA", "ENIL", "RATE", "DOGS"]
    stems = ["ST", "TR", "RA", "EN", "NI", "IL", "RAT", "TEN", "TIN", "LIT", "DO", "AT"]
    ends = ["", "E", "S", "ER", "ES", "IN", "AD", "AR", "AL", "NET", "ILE"]
    words = load_words(" ".join(stem + end for stem in stems for end in ends))
    found = find_words(board, words)
    assert (len(words), len(found), score(found)) == (124, 61, 89)
    assert list(found)[:4] == ["ATE", "ATES", "ATILE", "ATIN"]
    assert sum(r * 4 + c for path in found.values() for r, c in path) == 1653
