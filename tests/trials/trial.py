"""What the trials have in common: the program, a folder and loop devices of their own, and the lines at the end.

A trial runs in a mount namespace of its own, with a folder of journals that no other run sees. Everything that it makes lies in one folder and
is taken down in reverse order. It prints the seed first, `FAIL SEED: what` for each fault, and last `N passed, N failed, N skipped`.
"""

import ctypes
import fcntl
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
PROGRAM = os.environ.get("VOLPROOF", os.path.join(TARGET, "debug/volproof"))

LIBC = ctypes.CDLL(None, use_errno=True)


def arguments(usual):
    """The count and the first seed from the command line: `COUNT [SEED]`."""
    words = sys.argv[1:]
    return int(words[0]) if words else usual, int(words[1]) if len(words) > 1 else 1


def unable(why):
    print(f"skip trials: {why}")
    finish(0, 0, 1)


def finish(passed, failed, skipped):
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed else 0)


def enter_namespace():
    """Starts this script again in a mount namespace of its own."""
    if os.environ.get("VOLPROOF_TRIAL"):
        return
    if os.geteuid() != 0:
        unable("root is needed for loop devices and namespaces")
    words = ["unshare", "--mount", "--propagation", "private"]
    if subprocess.run([*words, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        unable("this machine allows no namespaces")
    os.environ["VOLPROOF_TRIAL"] = "1"
    os.execvp(words[0], [*words, sys.executable, *sys.argv])


class Trial:
    """A folder, what is to be taken back, and the faults so far."""

    def __init__(self, name):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        enter_namespace()
        self.folder = tempfile.mkdtemp(prefix=f"volproof-{name}-", dir=os.environ.get("TRIALS_IN"))
        self.undo, self.faults = [], []
        self.journals, self.temporary, self.history = (self.make_folder(n) for n in ("journals", "tmp", "history"))
        os.makedirs("/run/volproof", exist_ok=True)
        self.run("mount", "--bind", self.journals, "/run/volproof")
        # A history is never kept on the volume under test: this one is in memory.
        self.run("mount", "-t", "tmpfs", "none", self.history)
        self.undo += [("umount", self.history), ("umount", "/run/volproof")]
        self.environment = dict(os.environ, TMPDIR=self.temporary, VOLPROOF_HISTORY="")

    def __enter__(self):
        try:
            self.begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def begin(self):
        """What a trial makes once for all its tries."""

    def __exit__(self, *_):
        self.take_back(0)
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def make_folder(self, name):
        path = self.path(name)
        os.makedirs(path, exist_ok=True)
        return path

    def take_back(self, mark):
        """Undoes everything since a mark, the length of `undo` at that time."""
        while len(self.undo) > mark:
            words = self.undo.pop()
            if callable(words):
                words()
            elif not self.tries(*words) and words[0] == "umount":
                self.tries("umount", "--lazy", words[1])

    def run(self, *words):
        """Runs a command that must succeed; returns what it printed."""
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{words}: {done.stderr}")
        return done.stdout.strip()

    def tries(self, *words):
        """Whether a command succeeds, within a second."""
        for _ in range(20):
            quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            if subprocess.run(words, **quiet).returncode == 0:
                return True
            if words[0] not in ("umount", "losetup", "delpart", "swapoff"):
                return False
            subprocess.run(["sleep", "0.05"])
        return False

    def file(self, path, size, data=True):
        """A file of so many bytes, of data or a hole."""
        with open(path, "wb") as file:
            if data:
                file.write(os.urandom(1 << 16) * (size >> 16))
            file.truncate(size)
        return path

    def loop(self, file, *options):
        device = self.run("losetup", "--find", "--show", *options, file)
        self.undo.append(("losetup", "--detach", device))
        return device

    def filesystem(self, device):
        words = ["mke2fs", "-q", "-F", "-t", "ext4", "-O", "^has_journal", "-E", "lazy_itable_init=0", device]
        return self.run(*words)

    def volproof(self, *words, cwd=None, seconds=120, env=None):
        """Runs the program; returns its code and all that it said."""
        done = subprocess.run(
            [PROGRAM, *words], cwd=cwd or self.folder, env=env or self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds,
        )
        return done.returncode, " ".join(done.stdout.decode(errors="replace").split())

    def turn(self):
        """A turn together with other tests that have files in use, or with none that hides something (tests/machine/guard/rig.rs)."""
        lock = os.open("/", os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_SH)
        self.undo.append(lambda: os.close(lock))

    def consent_for(self, device):
        """The word that `check` prints for a device."""
        said = subprocess.run([PROGRAM, "check", device, "--json"], env=self.environment, capture_output=True).stdout
        return json.loads(said).get("consent") or "none"

    def fault(self, seed, what):
        self.faults.append((seed, what))
        print(f"FAIL {seed}: {what}", flush=True)


def seeded(seed):
    return random.Random(seed)
