"""Fans a plain function out over items, durably: run it twice, and the second time nothing is computed again."""

import bakeoff

computed = []


def square(number):
    computed.append(number)
    return number * number


results = bakeoff.fan_out_sync(square, range(100), max_concurrency=8, run="squares")
print(f"sum {sum(results)}, computed now: {len(computed)}")
