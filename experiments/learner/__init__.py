"""How good is ``SARClassifier``? Tables, ways of labelling, and what was found."""
