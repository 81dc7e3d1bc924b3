"""Can the checks be trusted? Sizes, power, coverage and bias, by simulation."""
