"""Fields of lines with quotes."""

LINE = ",".join(f'"field, {n}"' if n % 3 else f"plain{n}" for n in range(40))
CALLS = [lambda: ([],), lambda: (["a,b", '"a,b",c', ""],), lambda: ([LINE] * 20,)]


def work(lines):
    rows = []
    for line in lines:
        fields = []
        field = ""
        quoted = False
        for i in range(len(line)):
            if line[i] == '"':
                quoted = not quoted
            elif line[i] == "," and not quoted:
                fields.append(field)
                field = ""
            else:
                field = field + line[i]
        fields.append(field)
        rows.append(fields)
    return rows
