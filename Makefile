# Everything a fresh machine with Python and git needs: `make demo`, then `make test`.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# What the simulated NPU is built for. `make test TORCH=` tests without it.
TORCH ?= torch==2.13.0 numpy safetensors

# The browser for the tests of the report's page; empty: the one that is installed. `make test CHROMIUM=none`
# leaves those tests out.
CHROMIUM ?=

.PHONY: demo test soak audit lint clean

demo: $(VENV)/.installed
	rm -rf build/demo
	$(BIN)/cuda2npu convert examples/resnet50_cifar10 -o build/demo
ifneq ($(strip $(TORCH)),)
	$(PIP) $(TORCH)
	$(BIN)/python tools/demo.py examples/resnet50_cifar10 build/demo
endif

test: $(VENV)/.installed-for-tests
	tools/install_browser.sh "$(CHROMIUM)"
	CHROMIUM="$(CHROMIUM)" $(BIN)/python -m pytest -m "not soak"

soak: $(VENV)/.installed-for-tests
	$(BIN)/python -m pytest -m soak

# The largest honest test bed on every machine: the torch package itself.
audit: $(VENV)/.installed-for-tests
	$(PIP) $(TORCH)
	rm -rf build/audit
	for example in resnet50_cifar10 launch_and_config; do \
		$(BIN)/cuda2npu convert examples/$$example -o build/audit/$$example --quiet && \
		$(BIN)/python tools/audit.py examples/$$example build/audit/$$example || exit 1; \
	done
	torch=$$($(BIN)/python -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])') && \
	$(BIN)/cuda2npu convert "$$torch" -o build/audit/torch --quiet && \
	$(BIN)/python tools/audit.py "$$torch" build/audit/torch

lint: $(VENV)/.installed-for-tests
	$(BIN)/ruff check src tests tools
	$(BIN)/mypy

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(PIP) -e .
	touch $@

$(VENV)/.installed-for-tests: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[test]' $(TORCH)
	touch $@ $(VENV)/.installed
