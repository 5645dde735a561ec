"""The workbook: notebook sources in, notebooks out, a gate between them, and runs of the whole. See README.md here."""

import sys

# nbformat imports jsonschema, and that builds a grammar of international URLs at import: a second of work in each
# process that reads a notebook, for a check (format "iri") that the notebooks' schema does not have. Where the module
# is absent jsonschema leaves the check out.
if "jsonschema" not in sys.modules:
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
