# The lab in three words: make lab, make run, make test. Each brings what it needs; ARGS is handed on, for example
#   make lab ARGS="--no-browser --port 8890"      make test ARGS="-k doctor -x"
PYTHON ?= python3
BOOTSTRAP = @command -v $(PYTHON) >/dev/null || { echo "Not found: $(PYTHON). Install Python 3.10 or newer." >&2; exit 1; }; \
	exec $(PYTHON) scripts/bootstrap.py

.PHONY: help lab run test check build doctor clean distclean

help:
	@echo "make lab        set up once, then open the workbook in JupyterLab"
	@echo "make run        run the whole workbook and write an HTML report"
	@echo "make test       the checks; of the slowest ones a share"
	@echo "make check      formats and the quick tests, for the inner loop: one to three minutes"
	@echo "make build      build the twin and the simulated device now rather than at first use"
	@echo "make doctor     what this machine has, what it lacks, and the command that mends it"
	@echo "make clean      remove what was built; make distclean also removes ./.venv"

lab run test check build doctor:
	$(BOOTSTRAP) $@ $(ARGS)

clean:
	@PYTHONPATH=. $(PYTHON) -m labkit.environment.housekeeping
	@rm -rf run build .pytest_cache

distclean: clean
	@rm -rf .venv
