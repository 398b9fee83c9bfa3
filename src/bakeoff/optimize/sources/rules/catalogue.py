"""All rules, in the order in which they are applied together.

First what mends the way of the work (fewer steps), then what says the same in fewer instructions: what writes the
original beside the new form comes late, since the others would have to change both.
"""

from bakeoff.optimize.sources.rules.each import (
    affixes,
    any_loop,
    by_place,
    comprehension,
    count_range,
    counts,
    hoist,
    index_join,
    invariant,
    join_list,
    joined_lists,
    list_concat,
    membership_set,
    modular_power,
    pattern,
    range_length,
    remembered,
    remembered_below,
    seen_set,
    trailing_zeros,
    trial_division,
)
from bakeoff.optimize.sources.rules.rule import Rule

RULES: tuple[Rule, ...] = tuple(
    module.RULE
    for module in (
        trial_division, trailing_zeros, by_place, remembered, list_concat, joined_lists, counts, seen_set,
        membership_set, index_join, modular_power, affixes, any_loop, comprehension, join_list, pattern, count_range,
        range_length, invariant, hoist, remembered_below,
    )
)  # fmt: skip
