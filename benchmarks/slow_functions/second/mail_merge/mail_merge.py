"""Letters made of a template and many records."""

import json


class TemplateError(ValueError):
    """The template is wrong."""


def tokenize(template):
    """Return [("text", ...), ("field", ...), ("if", ...), ("end", "")] of a template."""
    tokens = []
    text = ""
    rest = template
    while rest != "":
        if rest.startswith("{{"):
            if text:
                tokens = tokens + [("text", text)]
                text = ""
            if "}}" not in rest:
                raise TemplateError("open field")
            inside = rest[2 : rest.index("}}")].strip()
            rest = rest[rest.index("}}") + 2 :]
            if inside.startswith("if "):
                tokens = tokens + [("if", inside[3:].strip())]
            elif inside == "end":
                tokens = tokens + [("end", "")]
            else:
                tokens = tokens + [("field", inside)]
        else:
            text = text + rest[0]
            rest = rest[1:]
    if text:
        tokens = tokens + [("text", text)]
    return tokens


def lookup(record, path):
    """Return the value at a.b.c of a record; empty where there is none."""
    value = json.loads(record)
    for key in path.split("."):
        if not isinstance(value, dict) or key not in value:
            return ""
        value = value[key]
    return value


def render(template, record):
    """Return the letter for one record, a line of JSON."""
    out = ""
    hidden = []
    for kind, value in tokenize(template):
        if kind == "if":
            hidden.append(not lookup(record, value))
        elif kind == "end":
            if not hidden:
                raise TemplateError("end without if")
            hidden.pop()
        elif not any(hidden):
            out += value if kind == "text" else str(lookup(record, value))
    if hidden:
        raise TemplateError("if without end")
    return out


def merge(template, lines):
    """Return the letters for all lines that are not blank, each only once."""
    letters = []
    for line in lines:
        if line.strip() and render(template, line) not in letters:
            letters.append(render(template, line))
    return letters
