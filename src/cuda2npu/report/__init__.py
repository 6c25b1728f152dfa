"""One model of what was done (``report.json``), and its views."""
