"""Recommend films by the taste of similar viewers."""

from math import sqrt

Ratings = dict[str, dict[str, float]]


def mean_rating(ratings: dict[str, float]) -> float:
    return sum(ratings.values()) / len(ratings) if ratings else 0.0


def similarity(a: dict[str, float], b: dict[str, float]) -> float:
    """Return the correlation of two viewers over the films both rated, 0.0 with fewer than two in common."""
    common = sorted(set(a) & set(b))
    if len(common) < 2:
        return 0.0
    mean_a, mean_b = mean_rating(a), mean_rating(b)
    product = sum((a[film] - mean_a) * (b[film] - mean_b) for film in common)
    norm_a = sqrt(sum((a[film] - mean_a) ** 2 for film in common))
    norm_b = sqrt(sum((b[film] - mean_b) ** 2 for film in common))
    if norm_a == 0 or norm_b == 0:
        return 0.0
    return product / (norm_a * norm_b)


def recommend(ratings: Ratings, viewer: str, top: int = 5, neighbours: int = 10) -> list[tuple[str, float]]:
    """Return the best films that a viewer has not rated, with the expected rating, best first.

    The expected rating of a film is the viewer's mean plus the weighted deviation of the most similar viewers who
    rated it. Viewers of no or opposite taste have no say; a film that nobody similar rated is not recommended.
    """
    if viewer not in ratings:
        raise KeyError(viewer)
    own = ratings[viewer]
    films = sorted({film for other in ratings.values() for film in other})
    scores: list[tuple[str, float]] = []
    for film in films:
        if film in own:
            continue
        voters = []
        for name in sorted(ratings):
            if name == viewer or film not in ratings[name]:
                continue
            likeness = similarity(own, ratings[name])
            if likeness > 0:
                voters.append((likeness, name))
        voters.sort(key=lambda voter: (-voter[0], voter[1]))
        voters = voters[:neighbours]
        if not voters:
            continue
        weight = sum(likeness for likeness, _ in voters)
        deviation = sum(likeness * (ratings[name][film] - mean_rating(ratings[name])) for likeness, name in voters)
        scores.append((film, round(mean_rating(own) + deviation / weight, 2)))
    scores.sort(key=lambda score: (-score[1], score[0]))
    return scores[:top]
