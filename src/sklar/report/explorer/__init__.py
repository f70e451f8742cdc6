"""The page that `selector.report` writes: one file that explains a model on a table, without any network.

facts.py asks the model; page.py puts the answers into templates/, whose scripts draw them.
"""

from sklar.report.explorer.page import to_stderr, write_report

__all__ = ["to_stderr", "write_report"]
