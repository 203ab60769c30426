PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

PAGE := $(shell find src/homeward/web/page -name node_modules -prune -o -type f -print)

unexport PYTHONDONTWRITEBYTECODE  # many processes start, and each would compile everything again

.PHONY: demo serve test docs check bench browser format clean

demo: $(READY)  ## safe and unsafe explorers side by side, and the picture
	$(BIN)/homeward demo --out demo.png

serve: $(READY)  ## the page, with a finished pair of runs to look at
	$(BIN)/homeward serve runs

test: export OPENBLAS_NUM_THREADS = 1
# Each worker would compile the kernels and the tests again, so that is done before they start.
test: $(READY) browser  ## style, types and every test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m tests.compiling & compiling=$$!; \
	    $(BIN)/mypy && { $(BIN)/pytest --collect-only >/dev/null; wait $$compiling; }
	$(BIN)/pytest -n 3 --dist loadfile || $(BIN)/pytest --last-failed --last-failed-no-failures none

docs: $(READY)  ## the site, in build/docs/index.html; warnings are errors
	$(BIN)/sphinx-build -W -n -q --keep-going docs build/docs
	@echo "open build/docs/index.html"

check: $(READY)  ## the laws behind the planner on random problems, each on a small sample
	$(BIN)/python -m lab check soundness --beliefs 200 --together 20
	$(BIN)/python -m lab check agreement --problems 50 --together 20
	$(BIN)/python -m lab check edges --problems 6
	$(BIN)/python -m lab check dirichlet --samples 100000
	$(BIN)/python -m lab check promise --beliefs 25
	$(BIN)/python -m lab check shown --runs 10
	$(BIN)/python -m lab check calibration --worlds 500 --plans 5 --runs 50 --sampled 20
	$(BIN)/python -m lab check sight --worlds 50
	$(BIN)/python -m lab check certify --plans 20 --forged 20
	$(BIN)/python -m lab check conservative --beliefs 2 --worlds 50
	$(BIN)/python -m lab check ground --grounds 1 --steps 40
	$(BIN)/python -m lab check interrupt --tries 6
	$(BIN)/python -m lab check locality --runs 10 --limit 30
	$(BIN)/python -m lab check refuted --runs 40 --limit 40
	$(BIN)/python -m lab check progress --runs 40 --steps 300 --study $$(mktemp -d)/progress.sqlite
	$(BIN)/python -m lab check standing --grounds 8 --seeds 2

bench: $(READY)  ## times and ratios against peers, each on a small sample
	$(BIN)/python -m lab bench planning --steps 10 --samples 1
	$(BIN)/python -m lab bench scale --largest 110000 --steps 50
	$(BIN)/python -m lab bench peers --small
	$(BIN)/python -m lab bench loops --steps 200
	$(BIN)/python -m lab bench run --steps 100 --seeds 1
	$(BIN)/python -m lab bench correlated --steps 50
	$(BIN)/python -m lab bench grid --steps 100
	$(BIN)/python -m lab bench criteria --steps 10 --terrains 2

browser:  ## a Chromium to test the page in, from the system's packages where there is none
	@for name in chromium chromium-browser google-chrome google-chrome-stable chrome; do \
	    command -v $$name >/dev/null && exit 0; \
	done; \
	as=; [ "$$(id -u)" = 0 ] || as="sudo -n"; \
	{ $$as apt-get update -qq && $$as apt-get install -qq -y --no-install-recommends chromium; } \
	    >/dev/null 2>&1 || echo "NO CHROMIUM CAN BE INSTALLED HERE: the page will not be tested"

format: $(READY)  ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(READY): pyproject.toml constraints.txt hatch_build.py $(PAGE)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis demo.png \
	    src/homeward/web/static src/homeward/web/page/node_modules
