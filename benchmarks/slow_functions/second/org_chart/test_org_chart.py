import pytest
from org_chart import Employee, OrgChart


@pytest.fixture
def chart():
    chart = OrgChart()
    chart.add_employee(Employee(1, "Ada", None, 900))
    chart.add_employee(Employee(2, "Bob", 1, 500))
    chart.add_employee(Employee(3, "Cyd", 1, 400))
    chart.add_employee(Employee(4, "Dan", 2, 300))
    chart.add_employee(Employee(5, "Eve", 99, 200))
    return chart


def test_find(chart):
    assert chart.find_by_id(3).get_name() == "Cyd"
    assert chart.find_by_id(7) is None


def test_duplicate(chart):
    with pytest.raises(ValueError, match="duplicate id: 4"):
        chart.add_employee(Employee(4, "Dot", None, 1))


def test_is_below(chart):
    assert chart.is_below(chart.find_by_id(4), chart.find_by_id(1))
    assert not chart.is_below(chart.find_by_id(5), chart.find_by_id(1))
    assert not chart.is_below(chart.find_by_id(1), chart.find_by_id(1))


def test_payroll(chart):
    assert chart.payroll_by_manager() == ["Ada: 3, 1200", "Bob: 1, 300"]


def test_large_company():
    chart = OrgChart()
    for number in range(64):
        manager = None if number == 0 else (number - 1) // 3
        chart.add_employee(Employee(number, f"p{number:02}", manager, 1000 + 13 * number % 170))
    rows = chart.payroll_by_manager()
    assert len(rows) == 21
    assert rows[:4] == ["p00: 63, 68468", "p01: 36, 38782", "p02: 12, 13144", "p03: 12, 13464"]
    assert rows[-1] == "p20: 3, 3378"
