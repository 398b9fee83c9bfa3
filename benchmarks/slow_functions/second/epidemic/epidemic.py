"""An epidemic among people who meet by chance."""

import random


class Person:
    """Somebody who is healthy, ill or immune."""

    def __init__(self, number):
        self.number = number
        self.state = "healthy"
        self.days = 0
        self.infected_by = None


class Epidemic:
    """The model; the same seed gives the same course."""

    def __init__(self, people, meetings=4, risk=0.12, duration=6, seed=1):
        self.people = [Person(number) for number in range(people)]
        self.meetings = meetings
        self.risk = risk
        self.duration = duration
        self.random = random.Random(seed)
        self.curve = []

    def in_state(self, state):
        """Return all people in a state."""
        return [person for person in self.people if person.state == state]

    def infect(self, number):
        """Make somebody ill from outside."""
        self.people[number].state = "ill"

    def day(self):
        """Let everybody who is ill meet some others, then let a day pass."""
        new = set()
        for person in self.in_state("ill"):
            for _ in range(self.meetings):
                other = self.people[int(self.random.random() * len(self.people))]
                if self.random.random() < self.risk and other.state == "healthy" and other not in new:
                    other.infected_by = person.number
                    new.add(other)
        for person in self.people:
            if person.state == "ill":
                person.days += 1
                if person.days >= self.duration:
                    person.state = "immune"
        for person in new:
            person.state = "ill"

    def run(self, days):
        """Return the numbers of (healthy, ill, immune) after each day; stop when nobody is ill."""
        for _ in range(days):
            if len(self.in_state("ill")) == 0:
                break
            self.day()
            self.curve.append((len(self.in_state("healthy")), len(self.in_state("ill")), len(self.in_state("immune"))))
        return self.curve

    def reproduction(self):
        """Return how many others each person infected that infected anybody."""
        counts = {}
        for person in self.people:
            if person.infected_by is not None:
                counts[person.infected_by] = counts.get(person.infected_by, 0) + 1
        return counts
