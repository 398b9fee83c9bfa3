"""League table of a tournament."""


class Team(object):
    def __init__(self, name):
        self.name = name
        self.points = 0
        self.scored = 0
        self.conceded = 0
        self.played = 0

    def goal_difference(self):
        return self.scored - self.conceded

    def __repr__(self):
        return "<Team %s %d>" % (self.name, self.points)


class Tournament(object):
    WIN, DRAW = 3, 1

    def __init__(self):
        self.teams = {}
        self.results = []

    def team(self, name):
        if name not in self.teams:
            self.teams[name] = Team(name)
        return self.teams[name]

    def record(self, home, away, home_goals, away_goals):
        if home == away:
            raise ValueError("a team does not play itself")
        self.results.append((home, away, home_goals, away_goals))
        for name, own, other in ((home, home_goals, away_goals), (away, away_goals, home_goals)):
            team = self.team(name)
            team.played += 1
            team.scored += own
            team.conceded += other
            if own > other:
                team.points += self.WIN
            elif own == other:
                team.points += self.DRAW

    def direct_points(self, name, rivals):
        """Points of a team in its matches against the rivals alone."""
        points = 0
        for home, away, home_goals, away_goals in self.results:
            if home == name and away in rivals:
                own, other = home_goals, away_goals
            elif away == name and home in rivals:
                own, other = away_goals, home_goals
            else:
                continue
            if own > other:
                points += self.WIN
            elif own == other:
                points += self.DRAW
        return points

    def table(self):
        """Return (rank, name, points) by points, direct matches among equals, goal difference, goals, name.

        Teams that are equal in all but the name share a rank, and the next rank is skipped.
        """
        ordered = []
        remaining = list(self.teams.values())
        while remaining:
            best = None
            for team in remaining:
                if best is None:
                    best = team
                    continue
                rivals = [other.name for other in self.teams.values() if other.points == team.points]
                key = (team.points, self.direct_points(team.name, rivals), team.goal_difference(), team.scored)
                rivals = [other.name for other in self.teams.values() if other.points == best.points]
                best_key = (best.points, self.direct_points(best.name, rivals), best.goal_difference(), best.scored)
                if key > best_key or (key == best_key and team.name < best.name):
                    best = team
            remaining.remove(best)
            rivals = [other.name for other in self.teams.values() if other.points == best.points]
            key = (best.points, self.direct_points(best.name, rivals), best.goal_difference(), best.scored)
            if ordered and ordered[-1][3] == key:
                rank = ordered[-1][0]
            else:
                rank = len(ordered) + 1
            ordered.append((rank, best.name, best.points, key))
        return [entry[:3] for entry in ordered]
