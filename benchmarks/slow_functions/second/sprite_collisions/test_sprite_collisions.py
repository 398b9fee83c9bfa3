import pytest
from sprite_collisions import Sprite, Vec, World


def test_vec():
    assert Vec(1, 2) + Vec(3, 4) == Vec(4, 6)
    assert (Vec(4, 6) - Vec(1, 2)).length() == 5
    assert Vec(1, -2).scale(2) == Vec(2, -4)


def test_bounce():
    world = World(10, 10)
    world.sprites.append(Sprite("ball", Vec(9, 5), Vec(2, 1), 1))
    assert world.update() == []
    assert world.sprites[0].pos == Vec(11, 6)
    assert world.sprites[0].vel == Vec(-2, 1)


def test_touch():
    world = World(100, 100)
    world.sprites = [
        Sprite("b", Vec(10, 10), Vec(0, 0), 2),
        Sprite("a", Vec(13, 10), Vec(0, 0), 1),
        Sprite("ghost", Vec(10, 10), Vec(0, 0), 5, solid=False),
        Sprite("far", Vec(60, 60), Vec(1, 0), 3),
    ]
    assert world.update() == [("a", "b")]
    assert [sprite.hits for sprite in world.sprites] == [1, 1, 0, 0]


def test_large_world():
    world = World(150, 150)
    for i in range(70):
        at = Vec((i * i * 7 + i * 53) % 150, (i * i * 3 + i * 29) % 150)
        world.sprites.append(Sprite(f"s{i:02}", at, Vec(i % 5 - 2, i % 7 - 3), 3 + i % 6, solid=i % 11 != 0))
    pairs = world.update(0.5)
    assert len(pairs) == 27
    assert pairs[:3] == [("s01", "s45"), ("s02", "s05"), ("s02", "s53")]
    assert sum(sprite.hits for sprite in world.sprites) == 54
    assert world.sprites[13].pos.x == pytest.approx(72.5)
