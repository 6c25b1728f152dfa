"""The views of a shell script: its code apart from quotes, here-documents and comments."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuda2npu.rewrite.formats.shell_text import documents, read


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a # b\n", "a    \n"),
        ("a#b 'c' \"d\" e\n", "a#b         e\n"),
        ("A='b' --c 'd' --e=\"f\"\n", "A='b' --c 'd' --e=\"f\"\n"),
        ("a '\nb\n' c\n", "a  \n \n  c\n"),
        ('echo "a $(b "c" d) e" f\n', "echo      b     d     f\n"),
        ("cat <<\\E\na\nE\nb\n", "cat <<\\E\n \n \nb\n"),
        ("cat <<'E-F'\na\nE-F\nb\n", "cat <<'E-F'\n \n   \nb\n"),
        ('cat <<"E F" <<B\na\nE F\n  B\nB\nb\n', 'cat <<"E F" <<B\n \n   \n   \n \nb\n'),
        ("cat <<-E\n  E\n\t\tE\nb\n", "cat <<-E\n   \n\t\t \nb\n".replace("\t\t ", "   ")),
        ("a $((1<<3)) $((2 << (b)))\nc\n", "a $((1<<3)) $((2 << (b)))\nc\n"),
        ("cat <<<a\nb\n", "cat <<<a\nb\n"),
        ('A="\n --b \\\n --c\n"\n', 'A="\n --b \\\n --c\n"\n'),
        ("case a in b) c;; esac\n", "case a in b) c;; esac\n"),
        ("a ${b#c} ${d:-'e'} f\n", "a ${b#c} ${d:-   } f\n"),
        ("a $'\\'b' c\n", "a        c\n"),
    ],
)
def test_code_is_what_the_shell_runs(text, code):
    assert read(text).code == code


def test_variables_are_read_in_double_quotes_and_documents_with_a_plain_end():
    assert read("\"$a\" '$b'\ncat <<C\n$d\nC\ncat <<'E'\n$f\nE\n").expanded == (
        "\"$a\"     \ncat <<C\n$d\nC\ncat <<'E'\n  \n \n"
    )


def test_outside_are_commands_that_no_bracket_holds():
    assert read("a\n(b)\nc $(d)\n`e`\nf\n").outside == "a\n( )\nc $( )\n` `\nf\n"


@pytest.mark.parametrize("text", ["a 'b\n", 'a "b\n', "a $(b\n", "cat <<E\na\n", "a `b\n"])
def test_a_script_that_ends_inside_of_something_has_no_code(text):
    assert (read(text).code.strip(), read(text).uncommented) == ("", text)


def test_directives_of_a_queue_are_code():
    assert read("#SBATCH -n 1 # a\n#SBATCHES\n").code == "#SBATCH -n 1    \n         \n"


def test_documents_that_a_command_asks_for():
    assert documents("cat <<A <<-'B C' $((1<<3))\n") == ["^A\\r?$", "^\\t*B\\ C\\r?$"]


@settings(max_examples=300, deadline=None)
@given(st.text("a \n\t\"'`$(){}<#\\-=", max_size=40))
def test_every_view_has_the_length_and_the_lines_of_the_text(text):
    for view in read(text):
        assert [len(line) for line in view.split("\n")] == [len(line) for line in text.split("\n")]
