import pytest
from customer_dedupe import Customer, duplicates, edit_distance, normalize


@pytest.mark.parametrize(
    ("a", "b", "distance"), [("", "", 0), ("abc", "", 3), ("kitten", "sitting", 3), ("flaw", "lawn", 2)]
)
def test_edit_distance(a, b, distance):
    assert edit_distance(a, b) == distance


def test_normalize():
    assert normalize("Dr. José  O'Neil") == "jose neil o"
    assert normalize("") == ""


def test_nobody():
    assert duplicates([]) == []
    assert duplicates([Customer(1, "Ann Lee", "1234")]) == []


def test_same_area_and_similar_name():
    people = [Customer(1, "Ann Lee", "1234"), Customer(2, "Lee, Anne", "1299"), Customer(3, "Ann Lee", "9934")]
    assert duplicates(people) == [[1, 2]]
    assert duplicates(people, allowed=0) == []


def test_mail_joins_across_areas():
    people = [Customer(5, "X", "1", "A@b.c "), Customer(2, "Someone Else", "2", "a@b.c"), Customer(3, "Nobody", "3")]
    assert duplicates(people) == [[2, 5]]


def test_groups_join_through_a_common_member():
    people = [
        Customer(1, "Anna", "10", "x@y"),
        Customer(2, "Boris", "20", "z@y"),
        Customer(3, "Annas", "10", "z@y"),
        Customer(4, "Carla", "30"),
    ]
    assert duplicates(people) == [[1, 2, 3]]


def test_large_list():
    firsts = ["Ann", "José", "Boris", "Carla", "Dieter", "Eva"]
    lasts = ["Lee", "Müller", "Novak", "Santos", "Okafor"]
    people = [
        Customer(
            i,
            f"{firsts[i // 3 % 6]} {lasts[i // 2 % 5]}{'e' * (i % 3)}",
            f"{i // 6 % 2}{i // 12 % 2}00",
            f"m{i % 7}@x" if i % 5 == 1 else "",
        )
        for i in range(15)
    ]
    assert duplicates(people, allowed=1) == [[0, 1], [4, 5], [6, 7], [10, 11], [12, 13]]
