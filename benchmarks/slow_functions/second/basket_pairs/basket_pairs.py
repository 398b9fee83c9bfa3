"""What people buy together: association rules of baskets."""

import itertools


def items_of(baskets):
    """Return all items, sorted."""
    items = []
    for basket in baskets:
        for item in basket:
            if item not in items:
                items.append(item)
    return sorted(items)


def support(baskets, itemset):
    """Return the share of the baskets with all items of a set."""
    count = 0
    for basket in baskets:
        if all(item in basket for item in itemset):
            count += 1
    return count / len(baskets)


def rules(baskets, min_support=0.05, min_confidence=0.3):
    """Return rules of (item, item, support, confidence, lift), the highest lift first."""
    found = []
    for a, b in itertools.permutations(items_of(baskets), 2):
        if support(baskets, [a, b]) < min_support:
            continue
        confidence = support(baskets, [a, b]) / support(baskets, [a])
        if confidence < min_confidence:
            continue
        lift = confidence / support(baskets, [b])
        found.append((a, b, round(support(baskets, [a, b]), 4), round(confidence, 4), round(lift, 4)))
    return sorted(found, key=lambda rule: (-rule[4], -rule[3], rule[0], rule[1]))


def suggest(baskets, cart, count=3):
    """Return items that go with a cart, best first, without those in it."""
    scores = {}
    for a, b, _, confidence, lift in rules(baskets):
        if a in cart and b not in cart:
            scores[b] = scores.get(b, 0) + confidence * lift
    return sorted(scores, key=lambda item: (-scores[item], item))[:count]
