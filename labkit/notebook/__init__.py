"""The workbook: notebook sources in, notebooks out, a gate between them, and runs of the whole. See README.md here."""
