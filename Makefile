# A thin front to CMake. `make help` lists what there is.

PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
FILES ?=
BUILD := build/release

.DEFAULT_GOAL := build
.PHONY: build demo python wheels check test test-long test-aarch64 gpu-check measure bench lab quality results-pages deb release mutants lint format docs fuzz install clean help

build: ## build the library and the program into build/release (installs missing Debian packages)
	@scripts/install-dependencies.sh build
	@scripts/build.sh release -DBUILD_TESTING=OFF

demo: ## run the three operations on real meshes and an R-MAT stand-in, or on FILES="a.mtx b.graph"; in two minutes with nothing built
	@scripts/install-dependencies.sh build
	@scripts/demo.sh $(FILES)

python: ## the Python package's wheel into build/wheels; installed and tested in an empty environment, with PACKAGES="torch ..." beside it
	@scripts/install-dependencies.sh build python
	@scripts/python.sh $(PACKAGES)

wheels: ## the wheels for x86-64 and aarch64, the latter tested under emulation, and both as packages of conda, into build/wheels and build/conda
	@scripts/install-dependencies.sh build python aarch64
	@scripts/wheels.sh $(PACKAGES)

check: ## while working: a quick build, the quick tests, lint of what changed; a minute or two
	@scripts/install-dependencies.sh build test
	@scripts/check.sh

test: ## everything that CI runs: lint, tests, sanitizers, fuzzers, package, manual; some twelve minutes
	@scripts/install-dependencies.sh build test aarch64 docs
	@scripts/install-python-packages.sh
	@scripts/test.sh

test-long: ## what takes hours: all widths and seeds, every instruction set under the sanitizers, long fuzzing
	@scripts/install-dependencies.sh build test aarch64
	@scripts/install-python-packages.sh
	@scripts/test-long.sh

test-aarch64: ## the kernels of NEON and SVE against the oracle, under emulation
	@scripts/install-dependencies.sh build aarch64
	@scripts/test-aarch64.sh

gpu-check: ## on a machine with a GPU: everything there is to check and measure, into docs/evidence
	@$(if $(UNPACKED),,scripts/install-dependencies.sh build)
	@UNPACKED="$(UNPACKED)" scripts/gpu-check.sh

measure: ## what the pages tell of, in PIECE="..." of less than nine minutes that are measured once of a commit; without PIECE their list
	@$(if $(PIECE),$(if $(UNPACKED),,scripts/install-dependencies.sh build))
	@UNPACKED="$(UNPACKED)" lab/bench/measure.sh $(PIECE)

bench: build ## measure FILES="..." against the naive loop; without FILES, what TAMIS_MATRIX_PATH names
	@scripts/bench.sh $(BUILD)/tools/tamis/tamis $(FILES)

quality: build ## the models beside other libraries (from PyPI) on the same splits; JESTER=, MSWEB=, KOS=, AP=, REUTERS= name real data
	@JESTER="$(JESTER)" MSWEB="$(MSWEB)" KOS="$(KOS)" AP="$(AP)" REUTERS="$(REUTERS)" DEVICE="$(or $(DEVICE),cpu)" lab/bench/quality/quality.sh $(BUILD)/tools/tamis/tamis

lab: build ## run SUITES="preds esimd" (all without) on DEVICE, TIER=small or full; reports in build/results
	@DEVICE="$(DEVICE)" TIER="$(TIER)" lab/bench/laboratory.sh $(BUILD)/tools/tamis/tamis $(SUITES)

results-pages: build ## a page in HTML of each file in lab/results; the claims in its README and the tables of speed, if all is of these sources
	@lab/results/page.sh draw
	@scripts/gpu-stale.sh refuse
	@lab/results/page.sh commits
	@lab/results/page.sh claims
	@PYTHONPATH=python:lab/python build/python/bin/python lab/results/picture.py lab/results docs/manual/pictures/real-matrices.svg
	@lab/results/tables.py lab/results README.md docs/performance.md docs/manual/python-attention.md docs/manual/python-graphs.md docs/manual/python-pyg.md docs/manual/several-devices.md docs/manual/index.md lab/results/README.md lab/results/methods.md

deb: ## Debian packages of what is committed, by dpkg-buildpackage, into build/deb
	@scripts/install-dependencies.sh build deb
	@scripts/deb.sh

release: ## sources, wheels, packages, bills of materials and checksums, after every test and with results of these sources; CHECK=1: what is missing
	@$(if $(CHECK),,scripts/install-dependencies.sh build test aarch64 docs deb)
	@$(if $(CHECK),,scripts/install-python-packages.sh)
	@scripts/release.sh $(if $(CHECK),check)

mutants: ## small changes of what changed SINCE=COMMIT (HEAD~20), COUNT=20 of them: do the tests notice?
	@scripts/install-dependencies.sh build test
	@scripts/mutants.py --since $(or $(SINCE),HEAD~20) --count $(or $(COUNT),20) $(if $(SEED),--seed $(SEED))

lint: ## formatting and static checks
	@scripts/install-dependencies.sh build test
	@scripts/lint.sh

format: ## bring the sources into the project's format
	@scripts/install-dependencies.sh test
	@git ls-files '*.c' '*.cc' '*.h' | xargs clang-format -i

docs: ## the manual, into build/docs
	@scripts/install-dependencies.sh build docs
	@scripts/docs.sh

fuzz: ## fuzz every reader for longer (SECONDS=600 each)
	@scripts/install-dependencies.sh build test
	@scripts/fuzz.sh $(or $(SECONDS),600)

install: build ## install under PREFIX (and DESTDIR)
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD) --prefix "$(PREFIX)"

clean: ## remove build/
	@rm -rf build

help: ## this list
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' | awk -F'\t' '{printf "  make %-13s %s\n", $$1, $$2}'
