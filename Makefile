# `make help` lists the targets. All except `test-release`, which needs `make release`, work from a
# clean clone with Rust and Node. `make tools` installs the missing Debian packages that tests use.

SHELL := /bin/bash -eu -o pipefail
CARGO ?= cargo
BIN := target/release/flashscope

help:              ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 16

.PHONY: help demo build web playground test test-all tested test-rust test-properties test-web test-fuzz test-readers test-registry test-python test-wheel test-release test-attach test-trust test-nvme test-baselines test-guards test-sanitizers check-elsewhere audit release check guide pictures bench bench-peers bench-agreement bench-models bench-intervals bench-long-run bench-probe bench-twin fuzz soak tools clean

# Builds only the parts that measure a simulated drive, with a profile that compiles fast: [profile.demo] in Cargo.toml.
demo: web          ## measure a simulated drive and write the report: target/demo/flashscope
	$(CARGO) build --profile demo --no-default-features --package flashscope
	target/demo/flashscope demo

build: web playground ## build the program: target/release/flashscope
	$(CARGO) build --release --package flashscope

web: web/dist/report.html

# `make demo` embeds these modules only if they exist: they take as long to compile as the rest.
playground:        ## build the modules of the page: simulator, search for IOs, trace reader
	scripts/build-playground

WEB_SOURCES := $(shell find web docs/schemas -type f -not -path '*/node_modules/*' -not -path 'web/dist/*' 2>/dev/null)

web/node_modules/.package-lock.json: web/package-lock.json
	@command -v npm >/dev/null || { echo "npm is missing: install Node 20 or later, from your distribution or https://nodejs.org" >&2; exit 1; }
	@command -v $(CARGO) >/dev/null || { echo "cargo is missing: install Rust from https://rustup.rs" >&2; exit 1; }
	cd web && npm ci --no-audit --no-fund

web/dist/report.html: web/node_modules/.package-lock.json $(WEB_SOURCES)
	cd web && npm run --silent build

# The targets of the last line mostly wait for servers or use one core, so two of them run at a
# time. `test-web` runs alone: beside a compiler or other tests, the browser exceeded its timeouts.
test: tools        ## run everything that CI checks
	$(MAKE) test-web check test-rust
	$(MAKE) --jobs 2 test-fuzz test-readers test-registry test-python

# Some tests need a virtual machine, root, or an hour.
test-all: test test-wheel test-attach test-trust test-nvme test-baselines test-guards test-sanitizers check-elsewhere ## run all tests

test-web: web playground ## test the page: types, units, and in a real browser
	cd web && npm run --silent verify

check: web         ## check formatting, lints, architecture, prose, licences and generated files
	$(CARGO) xtask check

test-rust: web     ## run unit, property, contract and end-to-end tests; print the ten slowest
	scripts/test-rust

# proptest saves failing cases beside the tests (*.proptest-regressions); commit them.
test-properties: web ## test properties on new random cases, eight times as many (not part of `test`)
	PROPTEST_RNG_SEED=$$RANDOM$$RANDOM PROPTEST_CASES=2048 $(CARGO) test --workspace --no-fail-fast

# Builds target/debug/flashscope as the tests do, so nothing is compiled after `test-rust`.
tested: web
	$(CARGO) build --workspace --quiet --bins

test-readers: tested ## open a result in DuckDB and Polars
	scripts/test-readers

test-fuzz: web     ## fuzz for a minute: committed inputs, random inputs, and canaries that must be found
	scripts/test-fuzz

test-registry: tested ## test the registry on PostgreSQL and S3, and the APIs with schemathesis
	scripts/test-registry

test-python: web   ## test the Python package: types, tests, notebooks
	scripts/test-python

test-wheel:        ## build and test the wheel from a clean clone: minutes (not part of `test`)
	scripts/test-wheel

test-attach: web   ## test attached drives with fio, ext4 and PostgreSQL at full size (needs root; not part of `test`)
	$(CARGO) test --package flashscope --test attach -- --include-ignored

test-trust: web    ## test faults, crashes and full disks at thousands of points (needs root; not part of `test`)
	scripts/test-trust

test-nvme: build   ## test emulated NVMe drives, NVMe/TCP, NBD, ublk and null_blk in virtual machines (installs QEMU; not part of `test`)
	scripts/test-nvme
	scripts/test-nvme-tcp
	scripts/test-ublk

test-baselines:    ## test that identical measurements agree on every simulated drive: minutes (not part of `test`)
	$(CARGO) test --package flashscope-command --test command -- baselines --ignored

test-guards: build ## test drives that are in use, fail or disappear, in a virtual machine (not part of `test`)
	scripts/test-guards

test-sanitizers: web ## run the engines under AddressSanitizer, and other code under Miri: minutes (not part of `test`)
	scripts/test-sanitizers

check-elsewhere:   ## type-check the parts for macOS and Windows (not part of `test`)
	scripts/check-elsewhere

audit:             ## check licences, sources and known vulnerabilities of dependencies (needs network access beyond package registries)
	command -v cargo-deny >/dev/null || $(CARGO) install --locked cargo-deny@0.20.2
	$(CARGO) deny check

release: web playground       ## build programs, packages and wheels for x86_64 and aarch64: target/dist
	scripts/release

test-release:      ## install and run the output of `release` in clean systems (needs root; not part of `test`)
	scripts/test-release

guide: web playground ## build the documentation as a book with the playground: target/guide/index.html
	command -v mdbook >/dev/null || $(CARGO) install --locked --quiet mdbook@0.5.4 --no-default-features --features search
	mdbook build docs
	node web/scripts/make-playground-page.mjs target/guide/play.html

pictures: build    ## take the pictures of the README in Chromium
	scripts/make-pictures

bench: build       ## measure speed, memory and size beside their limits
	scripts/bench

bench-peers: build ## compare speed, in turns, with fio and the simulators of MQSIM and DISKSIM
	scripts/bench-peers

# The page that it writes names this command: see benches/probe/src/page.rs.
bench-probe:       ## measure the accuracy of the probe on random drives, held-out kinds included, and its speed: docs/probe-accuracy.md
	$(CARGO) run --release --package flashscope-probe-bench -- --first 0 --drives 300 --noise 0,0.02,0.1 \
		--held-out 15 --jobs 2 --speed --write docs

# The number of drives of `bench-twin`; use TWIN_DRIVES=10 for a quick run.
TWIN_DRIVES ?= 100

bench-twin:        ## measure the accuracy of twins of random drives (TWIN_DRIVES, default 100)
	$(CARGO) run --release --package flashscope-twin-bench -- --drives $(TWIN_DRIVES)

bench-agreement:   ## compare the benchmark with the truth of simulated drives, which takes minutes: docs/agreement.md
	$(CARGO) run --release --package flashscope-agreement-bench -- --write docs

bench-models:      ## compare the models with the simulator on real and generated traces: docs/models-accuracy.md
	$(CARGO) run --release --package flashscope-models-bench

bench-long-run:    ## score the computed long run of workloads on random drives: docs/long-run.md
	$(CARGO) run --release --package flashscope-models-bench -- --long-run 420 --write

bench-intervals:   ## score the intervals of predictions on random drives, which takes minutes: docs/intervals.md
	$(CARGO) run --release --package flashscope-models-bench -- --population --write

# The time for all fuzz targets together, in seconds.
FUZZ_SECONDS ?= 3600

fuzz: web          ## fuzz every parser, protocol and FTL, guided by coverage (FUZZ_SECONDS in total, default 3600)
	FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/fuzz

SOAK_SECONDS ?= 14400

soak: build        ## compare all FTLs and policies on random lives, and kill a registry under load (SOAK_SECONDS, default 4 h)
	SOAK_SECONDS=$(SOAK_SECONDS) SEED=$(SEED) scripts/soak

tools:
	scripts/install-tools

clean:
	$(CARGO) clean
	rm -rf web/dist web/node_modules
