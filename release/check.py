"""Build the wheel and the sdist, and try both as somebody who installs them; run by ``make release-check``.

What is built is looked at by twine and check-wheel-contents, then installed in clean virtual environments: the wheel
with the extra ``cli``, the sdist without any. There, in a folder that is not this one, it is imported, fits, saves,
loads and runs its command. Leaves dist/.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
#: in a clean environment: the parts of the library that are not Python, a fit, and its file
SMOKE = """
import numpy as np, mercer
from mercer.datasets import load_sea_temperatures, make_sine
assert load_sea_temperatures().temperature.shape == (61, 12)
X, y = make_sine(80, random_state=0)
model = mercer.KernelQuantileRegressor().fit(X, y)
mercer.save(model, "sine.mercer")
again = mercer.load("sine.mercer")
assert np.array_equal(model.predict_quantile(X, [0.1, 0.9]), again.predict_quantile(X, [0.1, 0.9]))
assert len(mercer.explore(model, X, y).html) > 10_000
print("imported", mercer.__version__, "from", mercer.__file__)
"""
#: commands in the environment with the extra "cli", in order
COMMANDS = (
    "demo --out trial",
    "fit quantile trial/data.csv --target y --out y.mercer --report y.html",
    "info y.mercer",
    "predict y.mercer trial/new.csv --levels .05,.5,.95 -o quantiles.csv",
)


def run(*command: object, where: Path = ROOT) -> str:
    """Run a command, and return what it writes; what fails ends the check."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        [str(part) for part in command], cwd=where, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}\nended with {done.returncode}")
    return done.stdout


def say(text: str) -> None:
    """Write a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def check_words(version: str) -> None:
    """Refuse to release what the changelog does not know, or what is cited by another number."""
    if f"\n## {version}" not in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        raise SystemExit(f"CHANGELOG.md has no heading of {version}")
    if "\nversion:" in (ROOT / "CITATION.cff").read_text(encoding="utf-8"):
        raise SystemExit("CITATION.cff has a version; it has one place, pyproject.toml")


def build() -> tuple[Path, Path]:
    """Return the wheel and the sdist, built anew."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", DIST)
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist)
    run(Path(sys.executable).parent / "check-wheel-contents", wheel)
    return wheel, sdist


def try_out(archive: Path, extra: str, version: str) -> None:
    """Install an archive in a clean environment, and use it in an empty folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "venv", with_pip=True)
        binaries = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        quiet = ["--quiet", "--disable-pip-version-check"]
        run(binaries / "python", "-m", "pip", "install", *quiet, f"mercer{extra} @ {archive.as_uri()}", where=folder)
        run(binaries / "python", "-m", "pip", "check", where=folder)
        say(run(binaries / "python", "-I", "-c", SMOKE, where=folder).strip())
        answer = run(binaries / "mercer", "--version", where=folder).strip()
        if answer != f"mercer {version}":
            raise SystemExit(f"mercer --version says {answer!r}, pyproject.toml {version}")
        for command in COMMANDS if extra else ("demo",):
            run(binaries / "mercer", *command.split(), where=folder)
        if extra and not all((folder / each).stat().st_size for each in ("trial/report.html", "y.html")):
            raise SystemExit("a page is empty")


def main() -> None:
    """Check everything, and say what was found."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    check_words(version)
    wheel, sdist = build()
    for archive, extra in ((wheel, "[cli]"), (sdist, "")):
        say(f"{archive.name}, {archive.stat().st_size / 1e6:.2f} MB, in a clean environment:")
        try_out(archive, extra, version)
    say(f"mercer {version} can be released: twine upload dist/*")


if __name__ == "__main__":
    main()
