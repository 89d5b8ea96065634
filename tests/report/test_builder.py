from evalstats import report


def test_a_notebook_becomes_a_version(write_notebook, tmp_path):
    built = report.build(write_notebook(), reports=tmp_path / "reports", parameters={"seed": 9})
    print(built, sorted(p.relative_to(built.path).as_posix() for p in built.path.rglob("*")))
    print((built.path / "manifest.json").read_text(), (built.path / "notebook.ipynb").read_text())
    assert report.verify(built.path) == []
    again = report.build(write_notebook(), reports=tmp_path / "reports", parameters={"seed": 9})
    assert again.unchanged
