"""Learners from biased labels against each other, ours and those of other packages."""
