"""How often is a learner wrong without saying so? Rules chosen on one half, judged on the other."""
