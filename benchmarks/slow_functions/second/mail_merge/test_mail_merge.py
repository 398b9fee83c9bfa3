import json

import pytest
from mail_merge import TemplateError, lookup, merge, render, tokenize


def test_tokenize():
    assert tokenize("Hi {{ name }}{{if x}}!{{end}}") == [
        ("text", "Hi "),
        ("field", "name"),
        ("if", "x"),
        ("text", "!"),
        ("end", ""),
    ]


def test_lookup():
    assert lookup('{"a": {"b": 3}}', "a.b") == 3
    assert lookup('{"a": {"b": 3}}', "a.c.d") == ""


def test_render():
    template = "{{a}}{{if b}} {{b.c}}{{if d}} d{{end}}{{end}}."
    assert render(template, '{"a": 1, "d": 1}') == "1."
    assert render(template, '{"a": 1, "b": {"c": "x"}, "d": 1}') == "1 x d."


@pytest.mark.parametrize(
    ("template", "message"), [("a {{b", "open field"), ("{{if a}}", "if without end"), ("{{end}}", "end without if")]
)
def test_errors(template, message):
    with pytest.raises(TemplateError, match=message):
        render(template, "{}")


def test_large_merge():
    template = (
        "Dear {{ person.title }} {{ person.name }},\n\nyour order {{ order }} of {{ total }} EUR is on its way."
        "{{ if late }} We are sorry for the delay of {{ late.days }} days.{{ end }}\n\nYour shop\n"
    )
    lines = [
        json.dumps(
            {
                "person": {"title": "Ms" if i % 2 else "Mr", "name": f"N{i % 25}"},
                "order": 500 + i % 25,
                "total": i % 25 * 3.5,
                "late": {"days": i % 25} if i % 5 == 0 else None,
            }
        )
        for i in range(60)
    ]
    letters = merge(template, ["", *lines, "  \n"])
    assert len(letters) == 50
    assert letters[1] == "Dear Ms N1,\n\nyour order 501 of 3.5 EUR is on its way.\n\nYour shop\n"
    assert (
        letters[40].split("\n\n")[1]
        == "your order 515 of 52.5 EUR is on its way. We are sorry for the delay of 15 days."
    )
    assert sum(map(len, letters)) == 3710
