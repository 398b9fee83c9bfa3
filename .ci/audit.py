"""Looks for known vulnerabilities in the installed dependencies; says what could not be looked up."""

import json
import subprocess
import sys

ran = subprocess.run(
    [sys.executable, "-m", "pip_audit", "--format", "json", "--progress-spinner", "off", "--skip-editable", "--local"],
    capture_output=True,
    text=True,
)
try:
    found = json.loads(ran.stdout)["dependencies"]
except ValueError:
    sys.exit(f"the audit of dependencies did not run:\n{ran.stderr[-2000:]}")
vulnerable = [dependency for dependency in found if dependency.get("vulns")]
unknown = [dependency["name"] for dependency in found if "skip_reason" in dependency]
for dependency in vulnerable:
    ids = ", ".join(vuln["id"] for vuln in dependency["vulns"])
    print(f"{dependency['name']} {dependency.get('version')}: {ids}")
print(f"audit: {len(found)} dependencies, {len(vulnerable)} vulnerable, {len(unknown)} could not be looked up")
sys.exit(1 if vulnerable else 0)
