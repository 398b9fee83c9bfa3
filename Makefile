# Every target sets up what it needs. PYTHON chooses the interpreter the environment is made with.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: setup agents-cli demo test check bench soak clean
.DELETE_ON_ERROR:

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $(READY)

# The coding-agent CLIs that the tests drive for real, pinned; some 580 MB.
agents-cli: .tools/.ready

.tools/.ready: tests/agent/install_clis.py | $(READY)
	$(BIN)/python tests/agent/install_clis.py .tools

clean:
	rm -rf $(VENV) .tools .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis
