"""python -m tamis.report: runs the program that TAMIS_PROGRAM, PATH or the checkout has, with its arguments and exit code.

    test_module.py PROGRAM SOURCE"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
RESULTS = SOURCE / "tests/cli/cases/results-a.jsonl"


def module(*arguments, folder=SOURCE / "python", **environment):
    clean = {name: value for name, value in os.environ.items() if name not in ("TAMIS_PROGRAM", "PYTHONPATH")}
    clean.update({"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}, **environment)
    return subprocess.run([sys.executable, "-m", "tamis.report", *arguments], capture_output=True, text=True, env=clean, check=False)


class Module(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def test_named_program(self):
        page = self.folder / "page.html"
        done = module(str(RESULTS), "-o", str(page), "--title", "A <title>", TAMIS_PROGRAM=PROGRAM)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("<h1>A &lt;title&gt;</h1>", page.read_text(encoding="utf-8"))

    def test_program_on_the_path(self):
        os.symlink(PROGRAM, self.folder / "tamis")
        done = module(str(RESULTS), "-o", "-", PATH=str(self.folder))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.endswith("</html>\n"))

    def test_program_of_the_checkout(self):
        shutil.copytree(SOURCE / "python", self.folder / "python")
        built = self.folder / "build/release/tools/tamis"
        built.mkdir(parents=True)
        os.symlink(PROGRAM, built / "tamis")
        done = module("--help", folder=self.folder / "python", PATH=str(self.folder))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("RESULTS", done.stdout)

    def test_exit_code(self):
        done = module(str(self.folder / "missing.jsonl"), "-o", "-", TAMIS_PROGRAM=PROGRAM)
        self.assertEqual(done.returncode, 3)
        self.assertIn("cannot be read", done.stderr)

    def test_no_program(self):
        shutil.copytree(SOURCE / "python", self.folder / "python")
        done = module("x", folder=self.folder / "python", PATH=str(self.folder))
        self.assertEqual(done.returncode, 127)
        self.assertIn("TAMIS_PROGRAM", done.stderr)
        done = module("x", TAMIS_PROGRAM=str(self.folder / "nothing"))
        self.assertEqual(done.returncode, 127)
        self.assertIn("nothing", done.stderr)


unittest.main(argv=sys.argv[:1])
