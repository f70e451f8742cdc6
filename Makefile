# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check install -q -c constraints.txt

.PHONY: demo test test-oldest test-gpu check docs clean

# Each stamp is one installed set of extras; a change of the project's metadata makes it anew.
$(VENV)/.plot: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) torch
	$(PIP) -e '.[plot]'
	touch $@

$(VENV)/.test: $(VENV)/.plot
	$(PIP) -e '.[plot,parquet,sql,baselines,onnx,tune,dask,serve,triton-test,test]'
	touch $@

demo: $(VENV)/.plot        ## train on embedded data, print what was found, draw a picture
	$(BIN)/sklar demo --out demo

check: $(VENV)/.test       ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: check                ## everything CI runs
	$(BIN)/python -m pytest -n 2 --dist worksteal -q

# The oldest versions that pyproject.toml allows; OLDEST may ask for others, for example OLDEST='torch==2.13.0'. Warnings
# are not errors here: old packages use what newer ones call deprecated.
$(VENV)-oldest/.test: pyproject.toml
	test -x $(VENV)-oldest/bin/python || $(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/python -m pip --disable-pip-version-check install -q uv
	$(VENV)-oldest/bin/python -m uv pip install --python $(VENV)-oldest/bin/python -q --resolution lowest-direct $(OLDEST) -e '.[plot,parquet,sql,onnx,tune,dask,serve,test]'
	touch $@

test-oldest: $(VENV)-oldest/.test  ## the parts that meet other packages, with the oldest versions of these
	$(VENV)-oldest/bin/python -m pytest -q -n 2 -o filterwarnings=default tests/table tests/export tests/estimators tests/cli tests/test_params.py tests/test_explain.py tests/test_public.py

test-gpu: $(VENV)/.test    ## every public path and kernel on CUDA; for changes of model, training, kernels, experiments
	$(BIN)/python -m pytest -q -n 4 tests/gpu tests/kernels tests/model tests/training

$(VENV)/.docs: $(VENV)/.plot
	$(PIP) -e '.[plot,parquet,docs]'
	touch $@

docs: $(VENV)/.docs        ## the documentation as pages, in docs/_build/html; a warning is an error
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

clean:
	rm -rf $(VENV) $(VENV)-oldest demo build dist .mypy_cache .ruff_cache .pytest_cache docs/_build docs/gallery
