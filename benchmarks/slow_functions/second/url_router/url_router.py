"""A small router for web applications."""

import re
from urllib.parse import parse_qsl, unquote

CONVERTERS = {"int": r"\d+", "slug": r"[-a-z0-9]+", "str": r"[^/]+", "path": r".+"}


class NotFound(Exception):
    """No route fits."""


class Router:
    """Routes with patterns such as /users/<int:user_id>/posts/<slug:title>."""

    def __init__(self):
        self.routes = []
        self.counts = {}

    def add(self, pattern, handler, methods=("GET",)):
        """Add a route; those that come first win."""
        self.routes.append({"pattern": pattern, "handler": handler, "methods": methods})

    def _regex(self, pattern):
        out = "^"
        for part in re.split(r"(<\w+:\w+>)", pattern):
            found = re.match(r"<(\w+):(\w+)>$", part)
            if found:
                out += "(?P<" + found.group(2) + ">" + CONVERTERS[found.group(1)] + ")"
            else:
                out += re.escape(part)
        return out + "$"

    def match(self, method, path):
        """Return the handler and the arguments of the first route that fits."""
        candidates = []
        for route in self.routes:
            found = re.match(self._regex(route["pattern"]), unquote(path))
            if found and method in [m.upper() for m in route["methods"]]:
                arguments = found.groupdict()
                for key in arguments:
                    if "<int:" + key + ">" in route["pattern"]:
                        arguments[key] = int(arguments[key])
                candidates.append((route["handler"], arguments))
        if not candidates:
            raise NotFound(method + " " + path)
        return candidates[0]

    def dispatch(self, requests):
        """Call the handlers of "METHOD /path?query" lines and return (status, body) for each."""
        responses = []
        for request in requests:
            method, url = request.split(" ", 1)
            path, _, query = url.partition("?")
            try:
                handler, arguments = self.match(method.upper(), path)
            except NotFound:
                responses = responses + [(404, "")]
                continue
            self.counts[handler.__name__] = self.counts.get(handler.__name__, 0) + 1
            responses = responses + [(200, handler(dict(parse_qsl(query)), **arguments))]
        return responses
