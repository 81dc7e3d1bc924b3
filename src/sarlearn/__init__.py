"""Learning from positive and unlabelled data when the labelled positives are a biased sample."""

__version__ = "0.1.0"
