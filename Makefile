# `make' alone lists the targets.

EMACS ?= emacs
# Shells inside older Emacsen set EMACS=t, which names no program.
ifeq ($(EMACS),t)
override EMACS := emacs
endif
export EMACS

TARGET := $(or $(CARGO_TARGET_DIR),target)
ifeq ($(OS),Windows_NT)
EXE := .exe
LIBRARY := todo_write.dll
MODULE_FILE := lisp/todo-write-dyn.dll
else ifeq ($(shell uname),Darwin)
LIBRARY := libtodo_write.dylib
MODULE_FILE := lisp/todo-write-dyn.dylib
else
LIBRARY := libtodo_write.so
MODULE_FILE := lisp/todo-write-dyn.so
endif

# Built in a third of the time, since it is not optimized.
QUICK := $(TARGET)/quick/$(notdir $(MODULE_FILE))
PROGRAM := lisp/todo-write-mcp$(EXE)
AUTOLOADS := lisp/todo-write-autoloads.el
LISP := $(filter-out %-autoloads.el,$(wildcard lisp/*.el efrit-do/*.el))

PREFIX ?=
SITELISP ?= $(if $(PREFIX),$(PREFIX)/share/emacs/site-lisp,$(HOME)/.emacs.d/site-lisp)

# Two concurrent runs of a package manager would fail on its lock.
.NOTPARALLEL:

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: build
build: module $(AUTOLOADS) ## build the module and byte-compile the Lisp

.PHONY: setup
setup:
	@bin/setup run

# Replace a module's file: overwriting a loaded module crashes Emacs.
replace = if cmp -s $1 $2; then touch $2; else cp $1 $2.new && mv $2.new $2; fi

.PHONY: module
module: setup
	@cargo build --release $(if $(ALOUD),,$(if $(wildcard $(TARGET)/release/$(LIBRARY)),--quiet))
	@$(call replace,$(TARGET)/release/$(LIBRARY),$(MODULE_FILE))

# For the demonstration and the tests of a checkout that was not built: what they build, the
# Rust tests need, too.  Nothing is installed from there.
.PHONY: quick
quick: setup
	@mkdir -p $(TARGET)/quick
	@cargo build $(if $(ALOUD),,$(if $(wildcard $(TARGET)/debug/$(LIBRARY)),--quiet))
	@$(call replace,$(TARGET)/debug/$(LIBRARY),$(QUICK))

.PHONY: try
try: $(if $(wildcard $(MODULE_FILE)),build,quick)

# Written last, so that its time is that of the compiled files too.  These are
# all compiled again, since any of them may use a macro of another.
$(AUTOLOADS): $(LISP) | module
	@rm -f lisp/*.elc efrit-do/*.elc $@
	@$(EMACS) -Q --batch -L lisp -L efrit-do -f batch-byte-compile $(LISP)
	@$(EMACS) -Q --batch -l package --eval '(setq inhibit-message t)' \
	  --eval '(package-generate-autoloads "todo-write" (expand-file-name "lisp"))' \
	  --eval '(package-generate-autoloads "efrit-do" (expand-file-name "efrit-do"))'
	@touch $@

.PHONY: agents
agents: ## build todo-write-mcp, the program that follows agents and gives them the tool
	@cargo build --release --locked --package todo-write-mcp
	@$(call replace,$(TARGET)/release/todo-write-mcp$(EXE),$(PROGRAM))

.PHONY: all
all: build agents ## build the module, the Lisp and the program

.PHONY: demo
demo: ## play a scripted agent, after building
	@MAKE='$(MAKE)' bin/aloud try 'builds the module' bin/demo

.PHONY: test
test: try ## test your build: the Rust tests, and the Lisp tests on the newest Emacs that is there
	@bin/test core

.PHONY: check
check: setup-test all ## run all checks, after downloading what they need; VERBOSE=1 shows their output
	@bin/test check

.PHONY: thorough
thorough: setup-test all ## run what takes long or is random: kills, floods, searches
	@bin/test thorough

.PHONY: stress
stress: ## run `make test' RUNS=6 times, some beside busy loops, and count the failures of each test
	@MAKE='$(MAKE)' bin/stress $(RUNS)

.PHONY: golden
golden: build ## compare what is said of recorded sessions with earlier behavior; TODO_WRITE_CORPUS=folder
	@bin/golden

.PHONY: test-rust
test-rust: setup ## run the Rust tests
	@bin/test rust

.PHONY: test-lisp
test-lisp: setup-test all ## run the Lisp tests; MATCH=regexp of names
	@bin/test lisp

.PHONY: lint
lint: setup-test build ## run rustfmt, clippy, byte-compilation, checkdoc, package-lint
	@bin/test lint

.PHONY: hosts
hosts: all setup-test ## run genuine agents and packages, offline, after downloading them (2 GB)
	@bin/hosts

.PHONY: setup-test
setup-test:
	@bin/setup test

.PHONY: identity
identity: ## measure how well tasks are recognized, on the labeled pairs
	@cargo run --quiet --release --locked --manifest-path bench/Cargo.toml --target-dir $(TARGET)/bench --bin identity

.PHONY: bench
bench: all ## measure against other ways; EFRIT=checkout, ROUNDS=15, WRITE=1, BUILD=1
	@bin/bench

.PHONY: soak
soak: build ## follow AGENTS=20 and watch the memory; MINUTES=60, WRITE=1
	@bin/soak

# The variable is bash's own, so the script takes it as an argument.
.PHONY: fuzz
fuzz: setup ## search for inputs that break a law; SECONDS=60 a target, TARGETS=names
	@bin/fuzz '$(or $(SECONDS),60)' $(TARGETS)

.PHONY: audit
audit: ## check the crates: licenses, sources, advisories; ADVISORIES=copy
	@bin/audit

.PHONY: screenshot
screenshot: build ## take the pictures of doc/pictures.md, README.org and the manual
	@bin/setup screenshot
	@bin/screenshot

.PHONY: doc
doc: ## export the manual as Info and HTML to doc/build
	@bin/setup doc
	@bin/doc

.PHONY: install
install: build ## copy both packages to PREFIX, or to ~/.emacs.d/site-lisp
	@mkdir -p '$(DESTDIR)$(SITELISP)'/todo-write '$(DESTDIR)$(SITELISP)'/efrit-do/demo/login
	@cp lisp/*.el lisp/*.elc '$(DESTDIR)$(SITELISP)'/todo-write
	@bin/info '$(DESTDIR)$(SITELISP)'/todo-write
	@echo "(with-eval-after-load 'info (info-initialize) (add-to-list 'Info-directory-list \"$(SITELISP)/todo-write\"))" \
	  >> '$(DESTDIR)$(SITELISP)'/todo-write/todo-write-autoloads.el
	@cp efrit-do/*.el efrit-do/*.elc '$(DESTDIR)$(SITELISP)'/efrit-do
	@cp efrit-do/demo/refactor-login.json '$(DESTDIR)$(SITELISP)'/efrit-do/demo
	@cp efrit-do/demo/login/* '$(DESTDIR)$(SITELISP)'/efrit-do/demo/login
	@for file in $(MODULE_FILE) $(wildcard $(PROGRAM)); do \
	  to='$(DESTDIR)$(SITELISP)'/todo-write/$${file##*/}; cp $$file "$$to.new" && mv "$$to.new" "$$to" || exit 1; \
	done
	@echo 'Installed.  Add this to your init file; the second line is for M-x efrit-do:'
	@echo
	@echo '  (load "$(SITELISP)/todo-write/todo-write-autoloads" nil t)'
	@echo '  (load "$(SITELISP)/efrit-do/efrit-do-autoloads" nil t)'
	@echo
	@echo 'Where Efrit is installed, M-x efrit-do stays its command: (todo-write-efrit-mode 1) shows its plans.'

.PHONY: package
package: build ## make dist/*.tar for package-install-file; MODULE=1 adds the module, RELEASE=folder lists its files
	@bin/package

.PHONY: clean
clean: ## remove built files, but no downloads (.deps)
	cargo clean --quiet
	rm -rf lisp/*.elc efrit-do/*.elc $(MODULE_FILE) $(PROGRAM) lisp/*-autoloads.el efrit-do/*-autoloads.el dist doc/build .deps/build .deps/logs
