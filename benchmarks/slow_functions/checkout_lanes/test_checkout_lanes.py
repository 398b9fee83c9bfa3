import pytest
from checkout_lanes import Customer, Visit, average_wait, simulate


def test_nobody():
    assert simulate([], 2) == []
    assert average_wait([]) == 0.0


def test_one_customer():
    assert simulate([Customer("ann", 5, 10)], 1) == [Visit("ann", 0, 0, 55)]


def test_second_customer_takes_the_empty_lane():
    visits = simulate([Customer("ann", 0, 10), Customer("bob", 0, 1)], 2)
    assert visits == [Visit("bob", 1, 0, 23), Visit("ann", 0, 0, 50)]


def test_waiting():
    visits = simulate([Customer("ann", 0, 0), Customer("bob", 4, 0), Customer("cas", 20, 0)], 1)
    assert visits == [Visit("ann", 0, 0, 20), Visit("bob", 0, 16, 40), Visit("cas", 0, 20, 60)]
    assert average_wait(visits) == 12


def test_list_needs_no_order():
    assert simulate([Customer("late", 100, 0), Customer("soon", 1, 0)], 1)[0] == Visit("soon", 0, 0, 21)


def test_service_takes_at_least_a_second():
    assert simulate([Customer("ann", 0, 0), Customer("bob", 0, 0)], 1, payment=0) == [
        Visit("ann", 0, 0, 1),
        Visit("bob", 0, 1, 2),
    ]


def test_no_lane():
    with pytest.raises(ValueError, match="lane"):
        simulate([], 0)


def test_large_afternoon():
    customers = [Customer(f"c{i}", i * 37 % 1500, i * 13 % 30) for i in range(70)]
    visits = simulate(customers, 3)
    assert [(v.name, v.lane) for v in visits[:4]] == [("c0", 0), ("c42", 2), ("c1", 0), ("c41", 1)]
    assert visits[-1] == Visit(name="c39", lane=2, waited=0, left=1544)
    assert sum(v.waited * (i + 1) for i, v in enumerate(visits)) == 259450
