"""Says how an interpreter is set up: one JSON object on standard output."""

import json
import os
import site
import sys
import sysconfig

sites = [path for path in site.getsitepackages() if os.path.isdir(path)]
if site.ENABLE_USER_SITE and os.path.isdir(site.getusersitepackages()):
    sites.insert(0, site.getusersitepackages())
print(
    json.dumps(
        {
            "executable": sys.executable,
            "base": getattr(sys, "_base_executable", None) or os.path.realpath(sys.executable),
            "prefix": sys.prefix,
            "base_prefix": sys.base_prefix,
            "version": "%d.%d.%d" % sys.version_info[:3],
            "scripts": sysconfig.get_path("scripts"),
            "sites": sites,
        }
    )
)
