"""All rules, in the order in which they are applied together.

First what mends the way of the work (fewer steps), then what says the same in fewer instructions: a comprehension hides
the loop in which the others would find what they look for.
"""

from bakeoff.optimize.sources.rules.each import (
    aggregate,
    any_of,
    bind,
    by_place,
    closure,
    comprehension,
    constant_set,
    copying,
    counting,
    counts,
    deep_copy,
    early_exit,
    extreme,
    filtering,
    first_only,
    grouping,
    heap,
    hoist,
    index_below,
    index_join,
    inline,
    insert_front,
    insort,
    invariant,
    join,
    join_list,
    list_concat,
    lookup,
    loop_constant,
    manual_sort,
    membership_set,
    membership_view,
    memo,
    modular_power,
    multiset,
    nearest,
    once,
    ordered_set,
    pairs,
    positions,
    prefix_sums,
    queue,
    range_length,
    ranks,
    remembered,
    remembered_below,
    running,
    search,
    seen_set,
    steady_call,
    total,
    translate,
    trial_division,
    while_range,
    window,
)
from bakeoff.optimize.sources.rules.rule import Rule

RULES: tuple[Rule, ...] = tuple(
    module.RULE
    for module in (
        inline, manual_sort, trial_division, memo, steady_call, by_place, remembered, search, list_concat, insert_front,
        extreme, heap, nearest, insort, aggregate, multiset, ordered_set, queue, closure, index_join, filtering, ranks,
        lookup, positions, prefix_sums, window, counts, membership_view, seen_set, membership_set, constant_set,
        modular_power, loop_constant, invariant, while_range, pairs, range_length, early_exit, first_only, once,
        counting, grouping, running, join, hoist, comprehension, total, copying, deep_copy, translate, join_list,
        any_of, bind, remembered_below, index_below,
    )
)  # fmt: skip
