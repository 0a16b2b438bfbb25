"""loomlet works in the main interpreter only and says so elsewhere."""

import pytest

PROGRAM = """
    try:
        import {module} as interpreters
    except ImportError:
        print("none")
    else:
        import loomlet, warnings
        warnings.simplefilter("ignore", RuntimeWarning)  # 3.14 warns of those that remain
        text = '''
    try:
        import loomlet
    except ImportError as error:
        print("refused:", error)
    '''
        {run}
        print(loomlet.spawn(lambda: "main continues").result())
"""

OLD = "interpreters.run_string(interpreters.create({arg}), __import__('textwrap').dedent(text))"


@pytest.mark.parametrize("isolated", ["", "'legacy'"])
def test_the_import_fails_with_a_clear_error(isolated, python):
    """import loomlet in a sub-interpreter is an ImportError; the main one is not disturbed."""
    for module in ("_interpreters", "_xxsubinterpreters"):
        done = python(PROGRAM.format(module=module, run=OLD.format(arg=isolated)))
        if done.stdout != "none\n":
            break
    if done.stdout == "none\n" or "TypeError" in done.stderr or "unknown" in done.stderr:
        pytest.skip("this interpreter cannot make such a sub-interpreter")
    refused, continued = done.stdout.splitlines()
    assert refused.startswith("refused:")
    assert "loomlet" in refused
    assert continued == "main continues"
    assert done.returncode == 0
