"""Says from where this interpreter would take the project's modules, here and in a child without any variables.

It runs before and after each check, so that it imports little: json alone takes as long as all else here.

argv: a dict, as `ascii` writes it, with `names` (top-level modules of the project), `slot`, `main` (the user's
checkout), `allowed` (folders below it that may be named: an environment), `sentinel` (a file and what is in it, or
None), `code` (this text, for the child). Prints one JSON object on its last line: `problems`, each with `what`, `path`
and `by`.
"""

import importlib.util
import os
import sys


def below(path, folder):
    real = os.path.realpath(path)
    return real == folder or real.startswith(folder.rstrip("/") + "/")


class Look:
    def __init__(self, told):
        self.told = told
        self.slot = os.path.realpath(told["slot"])
        self.main = os.path.realpath(told["main"])
        self.mounted = self.slot == self.main
        self.problems = []

    def wrong(self, path):
        """Whether a path means the user's checkout and not the slot or an environment."""
        if self.mounted or not isinstance(path, str) or not os.path.isabs(path):
            return False
        allowed = [self.slot] + [os.path.realpath(place) for place in self.told["allowed"]]
        return below(path, self.main) and not any(below(path, place) for place in allowed)

    def add(self, what, path, by):
        self.problems.append({"what": what, "path": path, "by": by})

    def modules(self, strict):
        for name in self.told["names"]:
            try:
                spec = importlib.util.find_spec(name)
            except (ImportError, ValueError, AttributeError) as failure:
                self.add("%s cannot be looked up: %s" % (name, failure), "", "")
                continue
            if spec is None:
                continue
            places = list(spec.submodule_search_locations or [])
            if spec.has_location and spec.origin:
                places.append(spec.origin)
            for place in places:
                if self.wrong(place):
                    self.add("module %s comes from the user's checkout" % name, place, self.who(place, name))
            if strict and spec.origin not in ("built-in", "frozen") and places:
                if not any(below(place, self.slot) for place in places) and not any(map(self.wrong, places)):
                    self.add("module %s does not come from the slot" % name, places[-1], self.who(places[-1], name))

    def paths(self):
        for entry in sys.path:
            if self.wrong(entry):
                self.add("sys.path names the user's checkout", entry, self.who(entry))

    def finders(self):
        for finder in sys.meta_path:
            kind = finder if isinstance(finder, type) else type(finder)
            if kind.__module__ in ("_frozen_importlib", "_frozen_importlib_external", "zipimport"):
                continue
            module = sys.modules.get(kind.__module__)
            held = list(vars(kind).values())
            if not isinstance(finder, type):
                held += list(getattr(finder, "__dict__", {}).values())
            if module is not None and kind.__module__ != "__main__":
                held += [value for name, value in vars(module).items() if not name.startswith("__")]
            path = next(filter(self.wrong, texts(held, 4)), None)
            if path is not None:
                name = "finder %s.%s" % (kind.__module__, kind.__qualname__)
                pth = self.pth_with(kind.__module__)
                self.add("%s names the user's checkout" % name, path, pth + " (%s)" % name if pth else name)

    def who(self, path, name=""):
        """The .pth file or the finder that a path comes from."""
        for folder in sys.path:
            for pth, text in pth_files(folder):
                for line in text.splitlines():
                    line = line.strip()
                    if line and not line.startswith(("import ", "import\t", "#")):
                        if below(path, os.path.realpath(os.path.join(folder, line))):
                            return pth
        for finder in sys.meta_path if name else ():
            kind = finder if isinstance(finder, type) else type(finder)
            if kind.__module__.startswith("_frozen_importlib"):
                continue
            try:
                found = finder.find_spec(name, None)
            except Exception:
                continue
            if found is not None:
                pth = self.pth_with(kind.__module__)
                called = "finder %s.%s" % (kind.__module__, kind.__qualname__)
                return "%s (%s)" % (pth, called) if pth else called
        if any(below(path, os.path.realpath(entry)) for entry in os.environ.get("PYTHONPATH", "").split(":") if entry):
            return "PYTHONPATH"
        return ""

    def pth_with(self, word):
        return next((pth for folder in sys.path for pth, text in pth_files(folder) if word in text), "")

    def sentinel(self):
        if self.told["sentinel"] is None:
            return
        path, token = self.told["sentinel"]
        try:
            with open(path) as file:
                found = file.read()
        except OSError:
            found = ""
        if found != token:
            self.add("the project's own path is not the slot here", path, "")


def pth_files(folder):
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".pth"))
    except OSError:
        return
    for name in names:
        try:
            with open(os.path.join(folder, name), errors="replace") as file:
                yield os.path.join(folder, name), file.read()
        except OSError:
            continue


def texts(values, depth):
    """The texts in nested containers."""
    for value in list(values)[:100000]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, os.PathLike):
            yield str(value)
        elif depth and isinstance(value, dict):
            for found in texts(list(value.keys()) + list(value.values()), depth - 1):
                yield found
        elif depth and isinstance(value, (list, tuple, set, frozenset)):
            for found in texts(value, depth - 1):
                yield found


def json_of(value):
    """JSON of texts, and of dicts and lists of such."""
    if isinstance(value, dict):
        return "{%s}" % ", ".join("%s: %s" % (json_of(key), json_of(each)) for key, each in value.items())
    if isinstance(value, list):
        return "[%s]" % ", ".join(map(json_of, value))
    return '"%s"' % "".join(map(escaped, value))


def escaped(character):
    if " " <= character <= "~" and character not in '"\\':
        return character
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join("\\u" + units[start : start + 4] for start in range(0, len(units), 4))


def main():
    told = eval(sys.argv[1])  # noqa: S307 - of our own making
    look = Look(told)
    child = told.pop("child", False)
    look.sentinel()
    look.modules(strict=not child)
    look.paths()
    look.finders()
    if not child and not look.mounted:  # a path cannot mean another tree there, whoever asks
        import json
        import subprocess

        inner = ascii(dict(told, child=True))
        for flags in ([], ["-I"]):
            done = subprocess.run(
                [sys.executable] + flags + ["-c", told["code"], inner],
                env={}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            )  # fmt: skip
            lines = done.stdout.decode(errors="replace").strip().splitlines()
            where = "in a child without variables%s: " % (" and with -I" if flags else "")
            try:
                for problem in json.loads(lines[-1])["problems"]:
                    look.add(where + problem["what"], problem["path"], problem["by"])
            except (IndexError, ValueError, KeyError, TypeError):
                look.add(where + "the canary died: " + " ".join(lines[-1:]), "", "")
    print("\n" + json_of({"problems": look.problems, "executable": sys.executable or ""}))


if __name__ == "__main__":
    main()
