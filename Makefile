# Each target sets up what it needs in .venv: nothing has to be installed before but Python 3.11 or newer, with venv.
# The tests of pages need Chromium too, and those of bots in other languages Node: installed by apt where missing and one may.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
READY := .venv/ready
LONG := long

.PHONY: train table test test-long test-rllib test-wheel docs lint bench programs clean

train: $(READY)
	$(BIN)/python -m train.ppo configs/ppo/quick.yaml

table: $(READY)
	$(BIN)/wzmj table

test: $(READY) programs
	$(BIN)/python -m pytest -m "not long"

test-long: $(READY) programs
	$(BIN)/python -m pytest -m "$(LONG)"

test-rllib: # with the Gymnasium that RLlib pins, in an environment of its own
	$(PYTHON) -m venv .venv-rllib
	.venv-rllib/bin/python -m pip install --quiet --requirement examples/rllib-requirements.txt --editable .
	.venv-rllib/bin/python -m pytest --override-ini addopts=--strict-markers tests/test_rllib.py tests/test_gym.py

test-wheel: $(READY)
	$(BIN)/python tests/wheel.py

docs: $(READY)
	$(BIN)/mkdocs build --strict

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

programs:
	@{ command -v chromium && command -v node; } >/dev/null || { apt-get update -q && apt-get install -y -q chromium nodejs; } \
	  || { echo "the tests need the programs 'chromium' and 'node': install them"; exit 1; }

bench: $(READY)
	$(BIN)/wzmj bench

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	@echo "installing into .venv, once: some minutes"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[train,eval,web,dev]"
	touch $@

clean:
	rm -rf .venv .venv-rllib build dist site runs *.egg-info .pytest_cache .mypy_cache .ruff_cache
