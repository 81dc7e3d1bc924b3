"""What inspection, reporting, priors and the command line share to look at a fitted model."""
