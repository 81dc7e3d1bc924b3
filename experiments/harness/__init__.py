"""What every study shares: cells, the runner and its log, data, and tools for reports."""
