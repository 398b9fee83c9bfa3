"""Texts with their placeholders filled in."""

VALUES = {f"name{n}": f"value {n}" for n in range(60)}
TEXT = "Hello {{name3}}, {{ name7 }} and {{unknown}}. " * 30
CALLS = [lambda: ("", {}), lambda: ("{{a}} {{ a }}", {"a": "b"}), lambda: (TEXT, VALUES)]


def work(text, values):
    for key in values:
        text = text.replace("{{" + key + "}}", str(values[key]))
        text = text.replace("{{ " + key + " }}", str(values[key]))
    while text.find("{{") != -1 and text.find("}}") > text.find("{{"):
        start = text.find("{{")
        end = text.find("}}", start)
        text = text[:start] + text[end + 2 :]
    return text
