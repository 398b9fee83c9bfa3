"""Put into a facade environment: when a process of it ends, notes which loaded modules came from the user's checkout.

`MAIN`, `ALLOWED` and `REPORT`, a folder, are written above this text.
"""

import atexit
import os
import sys


def scan():
    found = []
    for name, module in list(sys.modules.items()):
        try:
            spaces = list(getattr(module, "__path__", None) or [])
            places = [getattr(module, "__file__", None)] + spaces
        except Exception:
            continue
        for place in places:
            if not isinstance(place, str):
                continue
            real = os.path.realpath(place)
            if real.startswith(MAIN + "/") and not any(real.startswith(path + "/") for path in ALLOWED):  # noqa: F821
                found.append((name, real))
                break
    try:
        with open(os.path.join(REPORT, "%d.%s" % (os.getpid(), os.urandom(4).hex())), "w") as file:  # noqa: F821
            for name, real in found:
                file.write("%r\n" % ((name, real),))
    except OSError:
        pass


atexit.register(scan)
