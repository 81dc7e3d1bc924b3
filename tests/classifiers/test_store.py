"""What is stored of a class prior: words for the width of its range."""

from sarlearn.classifiers._store import certainty


def test_words_follow_the_width_of_the_range():
    assert certainty((0.3, 0.44)) == "well"
    assert certainty((0.3, 0.47)) == "roughly"
    assert certainty((0.3, 0.59)) == "roughly"
    assert certainty((0.3, 0.61)) == "not at all"
    assert certainty((0.3, 0.31), unidentified=True) == "not at all"
