"""What a little more evidence is worth: audited rows, several chances to be labelled."""
