"""Which parts of a water network hang together."""


def merge(groups, a, b):
    """Put the groups of two nodes together and return all groups."""
    group_a = None
    group_b = None
    for group in groups:
        if a in group:
            group_a = group
        if b in group:
            group_b = group
    if group_a is group_b:
        return groups
    rest = [group for group in groups if group is not group_a and group is not group_b]
    return rest + [group_a + group_b]


def clusters(pipes, closed=()):
    """Return the clusters of nodes that water can reach from each other, the largest first.

    Pipes are (name, node, node, length). Closed ones let nothing through, but their nodes exist.
    """
    nodes = []
    for _, a, b, _ in pipes:
        for node in (a, b):
            if node not in nodes:
                nodes.append(node)

    groups = [[node] for node in nodes]
    for name, a, b, _ in pipes:
        if name not in closed:
            groups = merge(groups, a, b)

    for group in groups:
        group.sort()
    return sorted(groups, key=lambda group: (-len(group), group))


def cluster_lengths(pipes, closed=()):
    """Return the length of open pipe in each cluster, in the order of the clusters."""
    lengths = []
    for cluster in clusters(pipes, closed):
        lengths.append(sum(length for name, a, _, length in pipes if name not in closed and a in cluster))
    return lengths
