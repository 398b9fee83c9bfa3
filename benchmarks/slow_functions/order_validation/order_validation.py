"""Validate rows of orders against a schema before they are imported."""

import copy
import re

SCHEMA = {
    "order": {"required": True, "pattern": r"[A-Z]{2}-\d{4}", "unique": True},
    "customer": {"required": True, "pattern": r"\d{5}"},
    "article": {"required": True, "values": []},
    "pieces": {"required": True, "kind": "int", "at_least": 1, "at_most": 500},
    "price": {"required": False, "kind": "float", "at_least": 0.0},
    "note": {"required": False, "pattern": r"[^<>]*"},
}


def convert(kind, text):
    if kind == "int":
        return int(text)
    if kind == "float":
        return float(text)
    return text


def with_articles(schema, articles):
    """Return a copy of a schema that allows these articles only."""
    schema = copy.deepcopy(schema)
    schema["article"]["values"] = list(articles)
    return schema


def validate(rows, articles, schema=SCHEMA):
    """Return (good rows with converted values, problems as (row number from 1, column, message)).

    Columns that the schema does not know are a problem unless they begin with an underscore, which are dropped. A
    value that must be unique is a problem from its second appearance on, also when the first row is bad.
    """
    good = []
    problems = []
    for number, row in enumerate(rows, start=1):
        rules = with_articles(schema, articles)
        found = []
        clean = {}
        for column in sorted(row):
            if column not in rules and not column.startswith("_"):
                found.append((number, column, "unknown column"))
        for column, rule in rules.items():
            text = (row.get(column) or "").strip()
            if not text:
                if rule["required"]:
                    found.append((number, column, "missing"))
                continue
            if "pattern" in rule and not re.fullmatch(rule["pattern"], text):
                found.append((number, column, "malformed"))
                continue
            if "values" in rule and text not in rule["values"]:
                found.append((number, column, "not allowed"))
                continue
            if rule.get("unique"):
                earlier = [(other.get(column) or "").strip() for other in rows[: number - 1]]
                if text in earlier:
                    found.append((number, column, "appears twice"))
                    continue
            try:
                value = convert(rule.get("kind"), text)
            except ValueError:
                found.append((number, column, "not a number"))
                continue
            if "at_least" in rule and value < rule["at_least"]:
                found.append((number, column, "too small"))
            elif "at_most" in rule and value > rule["at_most"]:
                found.append((number, column, "too large"))
            else:
                clean[column] = value
        if found:
            problems = problems + found
        else:
            good.append(clean)
    return good, problems
