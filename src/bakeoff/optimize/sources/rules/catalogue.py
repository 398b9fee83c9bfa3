"""All rules, in the order in which they are applied together.

First what mends the way of the work (fewer steps), then what says the same in fewer instructions: a comprehension hides
the loop in which the others would find what they look for.
"""

from bakeoff.optimize.sources.rules.each import (
    any_of,
    bind,
    comprehension,
    copying,
    count_calls,
    counting,
    early_exit,
    extreme,
    grouping,
    heap,
    index_join,
    insert_front,
    invariant,
    join,
    join_list,
    list_concat,
    manual_sort,
    membership_set,
    membership_view,
    memo,
    modular_power,
    pairs,
    prefix_sums,
    queue,
    range_length,
    remembered,
    running,
    search,
    seen_set,
    total,
    translate,
    trial_division,
    while_range,
)
from bakeoff.optimize.sources.rules.rule import Rule

RULES: tuple[Rule, ...] = tuple(
    module.RULE
    for module in (
        manual_sort, trial_division, memo, remembered, search, list_concat, insert_front, heap, queue, index_join,
        prefix_sums, count_calls, membership_view, seen_set, membership_set, modular_power, invariant, while_range,
        pairs, range_length, early_exit, extreme, counting, grouping, running, join, comprehension, total, copying,
        translate, join_list, any_of, bind,
    )
)  # fmt: skip
