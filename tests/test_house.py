"""What is counted, and how the way of a fit is followed."""

import importlib
import sys

import house

MODULE = '''"""Two lines,
of a docstring."""

VALUE = """Two lines
of text"""  # a comment


class Thing:
    """One line."""

    def method(self, other):
        # a comment
        """Another."""
        total = (
            self,

            other,
        )
        return total


def short(): return VALUE
'''


def test_lines_are_counted_by_what_they_hold():
    found = house.count_file(MODULE)
    assert found.lines == 22
    assert found.docstrings == 4
    assert found.code == 2 + 1 + 6 + 1
    assert sorted(found.functions) == [1, 6]


def test_a_docstring_beside_code_hides_no_code():
    assert house.count_file('def f(): "Says."\n')[1:] == (1, 0, [1])


def test_files_are_added_up(tmp_path):
    (tmp_path / "room").mkdir()
    (tmp_path / "a.py").write_text(MODULE)
    long = "def long():\n" + "    print()\n" * 60 + "# a comment\n" * 390
    (tmp_path / "room" / "b.py").write_text(long)
    assert house.count(tmp_path) == {
        "lines of code": 71,
        "lines of docstrings": 4,
        "files": 2,
        "files over 450 lines": 1,
        "functions": 3,
        "lines of the median function": 6,
        "functions over 60 lines": 1,
    }


def test_files_and_calls_in_order(tmp_path, monkeypatch):
    """One file calls another, which calls back; a third gets a generator; a fourth is unused."""
    files = {
        "a_first": "import a_second, a_third, a_fourth\n"
        "def start(): return a_second.work(back) + a_third.add(x for x in 'ab')\n"
        "def back(): return 'c'\n",
        "a_second": "def work(function): return sorted([0], key=lambda _: function()) and 'd'\n",
        "a_third": "def add(letters): return ''.join(letters)\n",
        "a_fourth": "def unused(): pass\n",
    }
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    first = importlib.import_module("a_first")
    before = sys.getprofile()
    way = house.way_of(first.start, tmp_path)
    assert sys.getprofile() is before
    assert way.files == ["a_first", "a_second", "a_third"]
    assert way.calls == {
        ("a_first", "a_second"): 1,
        ("a_second", "a_first"): 1,
        ("a_first", "a_third"): 1,
    }
    assert way.pairs() == [("a_first", "a_second")]
    text = way.markdown("A fit")
    assert "3 files, 1 pairs" in text
    assert "| 1 | `a_first` | `a_second` 1, `a_third` 1 |" in text


def test_a_fit_is_followed():
    way = house.way_of_a_fit("SAREMClassifier")
    assert way.files[0] == "classifiers/sarem"
    assert {"_engine/em", "_engine/newton"} <= set(way.files)
