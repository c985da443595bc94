"""Model files that somebody has changed: ``python -m fuzz.model_files --files 10000``.

Small models are written by ``mercer.save``, and their files changed at random in two ways. *Damaged* files have other
bytes somewhere: flipped, cut off, put in, members exchanged. They must be refused, or be the same model. *Forged* files
have other texts, headers and members, and checksums that fit: they must be refused, or be some model. Nothing else may
happen: no other error, no module imported, no code run, no time beyond ``SECONDS``, no memory beyond ``ROOM``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import signal
import sys
import tempfile
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from mercer import ConformalQuantileRegressor, CostSensitiveClassifier, FunctionalRegressor, KernelQuantileRegressor
from mercer.exceptions import ModelFileError
from mercer.io.registry import known_classes
from mercer.io.writing import Writer
from mercer.measures import Points

#: seconds after which a file hangs, and bytes that all of them together may take beyond what the campaign has
SECONDS, ROOM = 10, 2**28
#: what the interpreter tells of itself that no file may bring about
FORBIDDEN = {"exec", "compile", "import", "os.system", "subprocess.Popen", "pickle.find_class", "ctypes.dlopen"}
#: what forged texts say in the place of something else
NASTY: tuple[Any, ...] = (
    *(None, True, -1, 0, 1e308, 2**64, 10**400, "", "median", "__class__", [], {}, [[]], {"kind": "array"}),
    *({"kind": "array", "number": 10**9}, {"kind": "array", "number": -1}, {"kind": "tuple", "items": 3}),
    *({"kind": "objects", "shape": [10**9, 10**9], "items": []}, {"kind": "objects", "shape": [-1], "items": [1]}),
    *({"kind": "scalar", "type": "object", "value": 1}, {"kind": "dict", "items": [[[], 1]]}, {"kind": "__init__"}),
    *({"kind": "record", "class": "os.system", "fields": {"command": "true"}}, {"kind": "slice", "items": [0]}),
    *({"kind": "state", "class": "Gaussian", "fields": {}}, {"kind": "float", "value": "1"}, {"kind": "object"}),
    {"kind": "record", "class": "FunctionKernel", "fields": {"function": "print"}},
)


def models() -> list[Any]:
    """Return small models of several kinds."""
    rng = np.random.default_rng(0)
    X, grid = rng.normal(size=(12, 1)), np.linspace(0, 1, 4)
    y = X[:, 0] + rng.normal(size=12)
    joint = KernelQuantileRegressor(alpha=0.1, measure=Points([0.2, 0.8]))
    fits = [
        joint.fit(X, y),
        ConformalQuantileRegressor(joint, random_state=0).fit(X, y),
        FunctionalRegressor(alpha=0.1, grid=grid).fit(X, np.sin(grid + X)),
        CostSensitiveClassifier(alpha=0.1, measure=Points([0.3, 0.7])).fit(X, y > 0),
        KernelQuantileRegressor().fit(np.repeat(X, 3, axis=0) + np.arange(36.0)[:, None], np.arange(36.0)),
    ]
    return fits


def fingerprint(model: Any) -> str:
    """Return what tells models apart: all that they consist of."""
    writer = Writer()
    digest = hashlib.sha256(json.dumps(writer.write(model, "model")).encode())
    for array in writer.arrays:
        digest.update(f"{array.dtype.str}{array.shape}{array.flags.fnc}".encode() + array.tobytes())
    return digest.hexdigest()


def members_of(data: bytes) -> dict[str, bytes]:
    """Return the members of a file by name."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    """Return members as a file."""
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, compression)
    return stream.getvalue()


def signed(members: dict[str, bytes]) -> dict[str, bytes]:
    """Return members with a list of contents that fits them."""
    contents = json.loads(members["contents.json"])
    contents["members"] = {
        name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in members.items()
        if name != "contents.json"
    }
    return members | {"contents.json": json.dumps(contents).encode()}


def flipped(data: bytes, rng: np.random.Generator) -> bytes:
    """Return bytes of which a few are others."""
    changed = bytearray(data)
    for place in rng.integers(0, len(data), rng.integers(1, 9)):
        changed[place] ^= int(rng.integers(1, 256))
    return bytes(changed)


def flipped_at_the_end(data: bytes, rng: np.random.Generator) -> bytes:
    """Return bytes of which some in the table of contents of the archive are others."""
    start = max(len(data) - 400, 0)
    return data[:start] + flipped(data[start:], rng)


def cut(data: bytes, rng: np.random.Generator) -> bytes:
    """Return the beginning."""
    return data[: int(rng.integers(0, len(data)))]


def spliced(data: bytes, rng: np.random.Generator) -> bytes:
    """Return bytes of which a part is left out, doubled, or made of nothing."""
    start, end = np.sort(rng.integers(0, len(data), 2))
    return data[:start] + (b"", 2 * data[start:end], b"\x00" * (end - start))[rng.integers(3)] + data[end:]


def exchanged(data: bytes, rng: np.random.Generator) -> bytes:
    """Return the file with two members exchanged, and the old list of contents."""
    members = members_of(data)
    left, right = rng.choice(list(members), 2, replace=False)
    members[left], members[right] = members[right], members[left]
    return packed(members)


def resealed(data: bytes, rng: np.random.Generator) -> bytes:
    """Return the file with a changed member, an archive that is whole, and the old list of contents."""
    members = members_of(data)
    name = rng.choice(list(members))
    members[name] = flipped(members[name], rng)
    return packed(members)


DAMAGES: tuple[Callable[..., bytes], ...] = (flipped, flipped_at_the_end, cut, spliced, exchanged, resealed)


def forged_text(data: bytes, rng: np.random.Generator) -> bytes:
    """Return the file with another value, name or class somewhere in its text."""
    members = members_of(data)
    name = "contents.json" if rng.random() < 0.1 else "model.json"
    text = json.loads(members[name])
    places = list(nodes(text))
    for holder, key in (places[k] for k in rng.integers(0, len(places), rng.integers(1, 4))):
        draw = rng.random()
        if draw < 0.2 and isinstance(holder, dict) and key in holder:
            holder[str(rng.choice(["predict", "__dict__", "kind", "items", "alpha", "fit"]))] = holder.pop(key)
        elif draw < 0.4 and isinstance(holder, dict) and "class" in holder:
            holder["class"] = str(rng.choice(sorted(known_classes())))
        elif draw < 0.6 and (isinstance(holder, list) or key in holder):
            other, its = places[rng.integers(len(places))]
            if isinstance(other, list) or its in other:
                holder[key] = json.loads(json.dumps(other[its])) if not isinstance(other, list) else other[: its + 1]
        else:
            holder[key] = NASTY[rng.integers(len(NASTY))]
    try:
        changed = json.dumps(text).encode()
    except (ValueError, RecursionError):  # a list within itself
        changed = b"[" * int(rng.integers(1, 10**6))
    members[name] = changed
    return packed(members if name == "contents.json" else signed(members))


def nodes(value: Any) -> Any:
    """Yield each place in a text: what holds it, and under which key."""
    for key, part in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(part, (dict, list)):
            yield from nodes(part)


def forged_array(data: bytes, rng: np.random.Generator) -> bytes:
    """Return the file with an array whose header, or whose entries, say something else."""
    members = members_of(data)
    name = str(rng.choice([each for each in members if each.endswith(".npy")]))
    old = members[name]
    headers = (
        (b"'<f8'", b"'|O8'"),
        (b"'<f8'", b"'<f4'"),
        (b"'<f8'", b"'<U2'"),
        (b"'<f8'", b"'|V8'"),
        (b"False", b"True "),
        (b"(", b"(9" + b"9" * int(rng.integers(1, 30)) + b", "),
        (b"'descr': ", b"'descr': print('x') or "),
        (b"{", b"[{}.__class__.__base__, {"),
    )
    before, after = headers[rng.integers(len(headers))]
    members[name] = old.replace(before, after, 1) if rng.random() < 0.7 else flipped(old, rng)
    return packed(signed(members))


def forged_archive(data: bytes, rng: np.random.Generator) -> bytes:
    """Return the file with compressed, further, missing or exchanged members, and a list of contents that fits."""
    members = members_of(data)
    draw = rng.integers(5)
    if draw == 0:
        return packed(signed(members | {"arrays/99.npy": b"\x00" * 2**24}), zipfile.ZIP_DEFLATED)
    if draw == 1:
        members[str(rng.choice(["../escape.npy", "arrays/999.npy", "model.json.pickle"]))] = b"cos\nsystem\n."
    elif draw == 2:
        del members[str(rng.choice(list(members)))]
    elif draw == 3:
        left, right = rng.choice([name for name in members if name != "contents.json"], 2, replace=False)
        members[left], members[right] = members[right], members[left]
    else:
        members["model.json"] = b"[" * int(rng.integers(1, 2**21)) + b"{},1," * int(rng.integers(1, 2**18))
    return packed(signed(members) if "contents.json" in members else members)


FORGERIES: tuple[Callable[..., bytes], ...] = (forged_text, forged_text, forged_text, forged_array, forged_archive)


class Watch:
    """Hears what the interpreter does while a file is loaded."""

    def __init__(self) -> None:
        self.on, self.heard = False, set()
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: Any) -> None:
        if self.on and (event in FORBIDDEN or (event == "open" and str(arguments[1]) not in ("r", "rb", "None"))):
            self.heard.add(event)


def outcome(path: Path, watch: Watch) -> tuple[str, Any]:
    """Load a file, and return what came of it, "refused", "loaded" or a finding, and the model."""
    watch.heard.clear()
    watch.on = True
    try:
        model = mercer.load(path)
        found: tuple[str, Any] = ("loaded", model)
    except ModelFileError as error:
        found = ("refused", None) if str(path) in str(error) else (f"an error without the name: {error}", None)
    except BaseException as error:
        found = (f"{type(error).__name__}: {error}", None)
    finally:
        watch.on = False
    return found if not watch.heard else (f"brought about {', '.join(sorted(watch.heard))}", None)


def campaign(n_files: int, seed: int, folder: Path) -> tuple[Counter[str], list[str]]:
    """Change files and load them; return how many came to what, and the findings, with what repeats them."""
    rng = np.random.default_rng(seed)
    originals = []
    for number, model in enumerate(models()):
        mercer.save(model, folder / f"{number}.mercer")
        originals.append(((folder / f"{number}.mercer").read_bytes(), fingerprint(model)))
    counts: Counter[str] = Counter()
    findings = []
    watch, path = Watch(), folder / "changed.mercer"
    signal.signal(signal.SIGALRM, lambda *_: sys.exit("a file hangs"))
    for number in range(n_files):
        data, print_of_it = originals[rng.integers(len(originals))]
        change = (DAMAGES + FORGERIES)[rng.integers(len(DAMAGES) + len(FORGERIES))]
        path.write_bytes(change(data, rng))
        signal.alarm(SECONDS)
        found, model = outcome(path, watch)
        signal.alarm(0)
        if found == "loaded":
            found = "another model" if change in FORGERIES else "DAMAGED, BUT LOADED"
            found = "the same model" if same_print(model, print_of_it) else found
        counts[f"{'forged' if change in FORGERIES else 'damaged'}: {found[:80]}"] += 1
        if found not in ("refused", "the same model", "another model"):
            findings.append(f"seed {seed}, file {number}, {change.__name__}: {found}")
    return counts, findings


def same_print(model: Any, expected: str) -> bool:
    """Say whether a model is the one of that fingerprint."""
    try:
        return fingerprint(model) == expected
    except Exception:  # models of forged files may be anything
        return False


def limit_memory(room: int) -> None:
    """Let this process take so many bytes of address space beyond what it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + room
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def main() -> int:
    """Run the campaign, print its table, and return 1 if there was a finding."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        models()  # whatever is imported or allocated once is there before the limit
        limit_memory(ROOM)
        counts, findings = campaign(arguments.files, arguments.seed, Path(folder))
    for found, count in sorted(counts.items()):
        print(f"{count:7d}  {found}")
    print("\n".join(findings) or f"{arguments.files} files, no finding")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
