from epidemic import Epidemic


def test_nobody_ill():
    assert Epidemic(10).run(5) == []


def test_no_risk():
    model = Epidemic(10, risk=0.0, duration=2)
    model.infect(3)
    assert model.run(9) == [(9, 1, 0), (9, 0, 1)]
    assert model.reproduction() == {}


def test_same_seed():
    courses = []
    for _ in range(2):
        model = Epidemic(40, seed=7)
        model.infect(0)
        courses.append(model.run(10))
    assert courses[0] == courses[1]
    assert all(sum(row) == 40 for row in courses[0])


def test_large_course():
    model = Epidemic(900, seed=5)
    for number in range(8):
        model.infect(number)
    curve = model.run(40)
    assert len(curve) == 40
    assert curve[3] == (875, 25, 0)
    assert curve[12] == (453, 349, 98)
    assert curve[-1] == (60, 1, 839)
    assert sum(model.reproduction().values()) == 832
