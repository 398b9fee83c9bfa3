"""Sprites that move and bump into each other."""

import math
from dataclasses import dataclass


@dataclass
class Vec:
    """A point or a direction."""

    x: float
    y: float

    def __add__(self, other):
        return Vec(self.x + other.x, self.y + other.y)

    def __sub__(self, other):
        return Vec(self.x - other.x, self.y - other.y)

    def scale(self, k):
        return Vec(self.x * k, self.y * k)

    def length(self):
        return math.sqrt(self.x**2 + self.y**2)


@dataclass
class Sprite:
    """A round thing on the screen."""

    name: str
    pos: Vec
    vel: Vec
    radius: float
    hits: int = 0
    solid: bool = True


class World:
    """A rectangle full of sprites."""

    def __init__(self, width, height):
        self.width = width
        self.height = height
        self.sprites = []

    def touching(self, a, b):
        return (a.pos - b.pos).length() <= a.radius + b.radius

    def move(self, sprite, dt):
        """Move a sprite and let it bounce off the walls."""
        sprite.pos = sprite.pos + sprite.vel.scale(dt)
        if sprite.pos.x < 0 or sprite.pos.x > self.width:
            sprite.vel = Vec(-sprite.vel.x, sprite.vel.y)
        if sprite.pos.y < 0 or sprite.pos.y > self.height:
            sprite.vel = Vec(sprite.vel.x, -sprite.vel.y)

    def update(self, dt=1.0):
        """Move all and return the sorted pairs of names that touch; each bump counts for both."""
        pairs = []
        for sprite in self.sprites:
            self.move(sprite, dt)
        for a in self.sprites:
            for b in self.sprites:
                if a is b or not a.solid or not b.solid:
                    continue
                pair = tuple(sorted([a.name, b.name]))
                if self.touching(a, b) and pair not in pairs:
                    pairs.append(pair)
                    a.hits += 1
                    b.hits += 1
        return sorted(pairs)
