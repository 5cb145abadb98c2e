"""Archives: pack, unpack, append, verify."""

from __future__ import annotations

import hashlib
import io
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from conftest import rows

import hypostyle

TEXT = ("id,city\n" + "".join(f"{row},{'oslo' if row % 3 else 'rome'}\n" for row in range(2000))).encode()


def test_pack_and_unpack(tmp_path: pathlib.Path) -> None:
    archive = hypostyle.pack(TEXT)
    assert isinstance(archive, bytes) and len(archive) < len(TEXT) // 4
    assert hypostyle.unpack(archive) == TEXT
    path, packed, restored = tmp_path / "t.csv", tmp_path / "t.csv.at1", tmp_path / "back.csv"
    path.write_bytes(TEXT)
    seen: list[tuple[int, int]] = []
    report = hypostyle.pack(path, packed, progress=lambda done, total: seen.append((done, total)))
    assert report["original_bytes"] == len(TEXT) and report["archive_bytes"] == packed.stat().st_size
    assert seen[-1] == (len(TEXT), len(TEXT))
    assert hypostyle.unpack(packed, restored, progress=lambda *it: seen.append(it)) == len(TEXT)
    assert seen[-1] == (len(TEXT), None)
    with pytest.raises(ZeroDivisionError):
        hypostyle.pack(path, packed, progress=lambda done, _: done // 0)
    assert restored.read_bytes() == TEXT
    file = io.BytesIO()
    hypostyle.pack(io.BytesIO(TEXT), file, level=1)
    assert hypostyle.unpack(file) == TEXT
    with pytest.raises(FileExistsError):
        hypostyle.unpack(packed, restored, replace=False)


def test_an_archive_says_what_it_is() -> None:
    archive = hypostyle.Archive(hypostyle.pack(TEXT))
    assert archive.codec == "columnar"
    assert archive.sha256 == hashlib.sha256(TEXT).digest()
    assert {"meta", "values"} <= {name for name, _, _ in archive.streams}
    assert archive.members == []
    assert archive.lines() == TEXT.splitlines()
    assert archive.unpack() == TEXT


def test_append(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "t.csv.at1"
    hypostyle.pack(TEXT, path)
    seen = []
    assert hypostyle.append(path, b"2000,bonn\n", progress=lambda *it: seen.append(it)) == 10
    assert seen[-1] == (10, 10)
    assert hypostyle.unpack(path) == TEXT + b"2000,bonn\n"
    assert rows(hypostyle.open(path).scan(filter="city = 'bonn'")) == [{"id": 2000, "city": "bonn"}]
    before = path.read_bytes()
    with pytest.raises(FileNotFoundError):
        hypostyle.append(path, tmp_path / "missing.csv")
    assert path.read_bytes() == before


def test_verify(tmp_path: pathlib.Path) -> None:
    archive = bytearray(hypostyle.pack(TEXT))
    report = hypostyle.verify(bytes(archive))
    assert report["ok"] and report["format"] == "at1" and report["bytes"] == len(TEXT)
    path, steps = tmp_path / "t.colf", []
    hypostyle.write({"a": ["x", "y"], "b": ["z", None]}, path)
    assert hypostyle.verify(path, progress=lambda *it: steps.append(it))["ok"] and steps == [(1, 2), (2, 2)]
    archive[len(archive) // 2] ^= 1
    report = hypostyle.verify(bytes(archive))
    assert not report["ok"] and report["errors"]
    with pytest.raises(hypostyle.CorruptFile):
        hypostyle.unpack(bytes(archive))


def test_bundles(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.csv").write_bytes(TEXT)
    (folder / "b.txt").write_bytes(b"hello\n")
    bundle = tmp_path / "folder.at1"
    command = [sys.executable, "-m", "hypostyle._command", "pack", str(folder), "-o", str(bundle)]
    assert subprocess.run(command, check=False).returncode == 0
    members = {it.name: it for it in hypostyle.Archive(bundle).members}
    assert sorted(members) == ["a.csv", "b.txt"]
    assert members["b.txt"].unpack() == b"hello\n"
    assert members["a.csv"].unpack() == TEXT


def test_the_command(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(TEXT)
    command = [sys.executable, "-m", "hypostyle._command"]
    ran = subprocess.run([*command, "head", "-n", "1", str(path)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0 and "rome" in ran.stdout
    ran = subprocess.run([*command, "head", str(tmp_path / "no")], capture_output=True, text=True, check=False)
    assert ran.returncode == 3 and "no" in ran.stderr
    assert subprocess.run([*command, "--nonsense"], capture_output=True, check=False).returncode == 2


def test_ctrl_c_ends_a_call(tmp_path: pathlib.Path) -> None:
    program = textwrap.dedent(
        f"""
        import os, random, sys
        import hypostyle
        random.seed(1)
        text = "".join(f"{{random.random()}},{{random.random()}}\\n" for _ in range(400_000)).encode()
        print("ready", flush=True)
        try:
            hypostyle.pack(text, {str(tmp_path / "x.at1")!r}, level=9)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            sys.stdout.flush()
            os._exit(7)
        """
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 7
    assert not (tmp_path / "x.at1").exists()
