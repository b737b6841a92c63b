# What to type (`make help` lists it). Everything works from a clean clone with Rust and Node; `make tools` installs the
# Debian packages that the tests use, as far as they are missing.

SHELL := /bin/bash -eu -o pipefail
CARGO ?= cargo
BIN := target/release/flashscope

help:              ## list what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 16

.PHONY: help demo build web test test-all tested test-rust test-properties test-web test-fuzz test-readers test-registry test-python test-wheel test-release test-attach test-trust test-nvme test-guards test-sanitizers check-elsewhere audit release check guide pictures bench bench-models bench-probe bench-twin fuzz soak tools clean

# What a measurement of a simulated drive needs, compiled for speed of compiling: see [profile.demo] in Cargo.toml.
demo: web          ## measure a simulated drive and write the report: target/demo/flashscope
	$(CARGO) build --profile demo --no-default-features --package flashscope
	target/demo/flashscope demo

build: web         ## build the program: target/release/flashscope
	$(CARGO) build --release --package flashscope

web: web/dist/report.html

WEB_SOURCES := $(shell find web docs/schemas -type f -not -path '*/node_modules/*' -not -path 'web/dist/*' 2>/dev/null)

web/node_modules/.package-lock.json: web/package-lock.json
	@command -v npm >/dev/null || { echo "npm is missing: install Node 20 or later, from your distribution or https://nodejs.org" >&2; exit 1; }
	@command -v $(CARGO) >/dev/null || { echo "cargo is missing: install Rust from https://rustup.rs" >&2; exit 1; }
	cd web && npm ci --no-audit --no-fund

web/dist/report.html: web/node_modules/.package-lock.json $(WEB_SOURCES)
	cd web && npm run --silent build

test: tools        ## everything that CI checks
	$(MAKE) test-web check test-rust test-fuzz test-readers test-registry test-python

# Some of it takes a virtual machine, root, or an hour.
test-all: test test-wheel test-attach test-trust test-nvme test-guards test-sanitizers check-elsewhere ## all tests that there are

test-web: web      ## the page: types, units, and in a real browser
	cd web && npm test

check: web         ## formatting, lints, architecture, licenses, generated files
	$(CARGO) xtask check

test-rust: web     ## unit, property, contract and end-to-end tests; prints the ten slowest
	scripts/test-rust

# Found failures are kept beside the tests (*.proptest-regressions) and belong into the repository.
test-properties: web ## properties on cases drawn anew, eight times as many (not part of `test`)
	PROPTEST_RNG_SEED=$$RANDOM$$RANDOM PROPTEST_CASES=2048 $(CARGO) test --workspace --no-fail-fast

# The program as the tests build it, target/debug/flashscope: nothing is compiled for it after `test-rust`.
tested: web
	$(CARGO) build --workspace --quiet --bins

test-readers: tested ## a result opens in DuckDB and Polars
	scripts/test-readers

test-fuzz: web     ## a minute of fuzzing: what is kept, inputs that are drawn, and canaries that must be found
	scripts/test-fuzz

test-registry: tested ## the registry on PostgreSQL and S3, and the APIs as schemathesis finds them
	scripts/test-registry

test-python: web   ## the Python package: types, tests, notebooks
	scripts/test-python

test-wheel:        ## its wheel, built from a clean clone: minutes (not part of `test`)
	scripts/test-wheel

test-attach: web   ## attached drives under fio, ext4 and PostgreSQL, at full size (needs root; not part of `test`)
	$(CARGO) test --package flashscope --test attach -- --include-ignored

test-trust: web    ## faults, crashes and full disks at thousands of points (needs root; not part of `test`)
	scripts/test-trust

test-nvme: build   ## emulated NVMe drives, NBD, ublk and null_blk in virtual machines (installs QEMU; not part of `test`)
	scripts/test-nvme
	scripts/test-ublk

test-guards: build ## drives in use by LVM, RAID and others, that fail or go away, in a virtual machine (not part of `test`)
	scripts/test-guards

test-sanitizers: web ## the engines under AddressSanitizer, and what Miri can run: minutes (not part of `test`)
	scripts/test-sanitizers

check-elsewhere:   ## what needs no Linux, for macOS and Windows (not part of `test`)
	scripts/check-elsewhere

audit:             ## licences, sources and known vulnerabilities of what is linked (needs the network beyond package registries)
	command -v cargo-deny >/dev/null || $(CARGO) install --locked cargo-deny@0.20.2
	$(CARGO) deny check

release: web       ## what people install, for x86_64 and aarch64: programs, packages, wheels: target/dist
	scripts/release

test-release:      ## what `make release` made, installed and run where nothing else is (needs root; not part of `test`)
	scripts/test-release

guide:             ## the guide and the reference as a book: target/guide/index.html
	command -v mdbook >/dev/null || $(CARGO) install --locked --quiet mdbook@0.5.4 --no-default-features --features search
	mdbook build docs

pictures: build    ## the pictures of the README, of what the program writes, in Chromium
	scripts/make-pictures

bench: build       ## speed, memory and size, beside their limits
	scripts/bench

# The page that it writes names this command: see benches/probe/src/page.rs.
bench-probe:       ## how often the probe is right about 300 random drives: docs/probe-accuracy.md; and its speed
	$(CARGO) run --release --package flashscope-probe-bench -- --first 0 --drives 300 --noise 0,0.02,0.1 \
		--jobs 2 --speed --write docs

# TWIN_DRIVES=10 for fewer.
TWIN_DRIVES ?= 100

bench-twin:        ## how well twins of 100 random drives predict what they were not fitted to
	$(CARGO) run --release --package flashscope-twin-bench -- --drives $(TWIN_DRIVES)

bench-models:      ## how well the models predict the real traces of the reference data, and others, beside the simulator
	$(CARGO) run --release --package flashscope-models-bench

# An hour for all targets together.
FUZZ_SECONDS ?= 3600

fuzz: web          ## every parser, protocol and FTL under inputs that coverage guides, FUZZ_SECONDS in all (default 3600)
	FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/fuzz

SOAK_SECONDS ?= 14400

soak: build        ## every FTL and policy against each other, and a registry under load and kill -9 (SOAK_SECONDS, default 4 h)
	SOAK_SECONDS=$(SOAK_SECONDS) SEED=$(SEED) scripts/soak

tools:
	scripts/install-tools

clean:
	$(CARGO) clean
	rm -rf web/dist web/node_modules
