"""Runs a submission against tests, in a sandbox that was made for it.

This process holds what the submission must not see: the tests that are still to come, the assertions, and the word
that marks true results. The submission runs in processes of its own, which cannot look into this one (it is not
dumpable, and they have no capabilities; a probe tries it first), and talks to it by values alone. What a test expects
as output is not even here: outputs are compared outside.
"""

import ast
import ctypes
import json
import os
import resource
import selectors
import signal
import subprocess
import sys
import tempfile
import time

OUTPUT = 4 << 20
MEMORY = 2 << 30
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
CAPABILITIES = 64
NOT_CLOSED = 97
LIBC = ctypes.CDLL(None, use_errno=True)

# Runs in the submission's process: loads it, then answers calls, one line each, on a pipe of its own.
WORKER = r"""
import ast, io, json, os, sys
calls, results = os.fdopen(int(sys.argv[1])), os.fdopen(int(sys.argv[2]), "w")
form, name = sys.argv[3], sys.argv[4]
with open(sys.argv[5], encoding="utf-8") as text:
    source = text.read()
sys.stdin = io.StringIO()
space = {"__name__": "solution"}
exec(compile(source, "solution.py", "exec"), space)
target = space.get(name)
if target is None and "Solution" in space:
    target = getattr(space["Solution"](), name)
if target is None:
    raise SystemExit("there is no " + name)
for line in calls:
    arguments = json.loads(line) if form == "json" else ast.literal_eval(json.loads(line))
    value = target(*arguments)
    text = json.dumps(value) if form == "json" else repr(value)
    results.write(json.dumps(text) + "\n")
    results.flush()
"""


class Failed(Exception):
    """The submission did not answer."""


# Tries to look into its parent.
PROBE = r"""
import os
try:
    open(f"/proc/{os.getppid()}/mem", "rb")
except OSError:
    raise SystemExit(0)
raise SystemExit(1)
"""


def limits():
    # Root with capabilities could look into any process. Without them in the bounding set, none come back at exec.
    for capability in range(CAPABILITIES):
        LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def start(arguments, folder, fds=(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL):
    return subprocess.Popen(
        [sys.executable, "-I", *arguments],
        cwd=folder,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": folder, "PYTHONHASHSEED": "0"},
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.DEVNULL,
        pass_fds=fds,
        start_new_session=True,
        preexec_fn=limits,
    )


def stop(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except OSError:
        pass
    process.wait()


def program(solution, text, seconds, folder):
    """Runs the submission as a program; returns its output and its exit code."""
    process = start([solution], folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    until = time.monotonic() + seconds
    output = bytearray()
    left = memoryview(text.encode())
    try:
        with selectors.DefaultSelector() as selector:
            for pipe, event in [(process.stdin, selectors.EVENT_WRITE), (process.stdout, selectors.EVENT_READ)]:
                os.set_blocking(pipe.fileno(), False)
                selector.register(pipe, event)
            while process.stdout in [key.fileobj for key in selector.get_map().values()]:
                rest = until - time.monotonic()
                if rest <= 0:
                    raise Failed("it took too long")
                for key, _ in selector.select(rest):
                    if key.fileobj is process.stdin:
                        try:
                            left = left[os.write(process.stdin.fileno(), left[:65536]) :] if left else left
                        except BlockingIOError:
                            continue
                        except BrokenPipeError:
                            left = left[:0]
                        if not left:
                            selector.unregister(process.stdin)
                            process.stdin.close()
                    else:
                        piece = os.read(process.stdout.fileno(), 65536)
                        output += piece
                        if len(output) > OUTPUT:
                            raise Failed("it printed too much")
                        if not piece:
                            selector.unregister(process.stdout)
            try:
                code = process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise Failed("it took too long") from None
            return output.decode(errors="replace"), code
    finally:
        stop(process)


class Callee:
    """A function of the submission, in a process of its own."""

    def __init__(self, solution, form, name, seconds, folder):
        calls, self.calls = os.pipe()
        self.results, results = os.pipe()
        arguments = ["-c", WORKER, str(calls), str(results), form, name, solution]
        self.process = start(arguments, folder, fds=(calls, results))
        os.close(calls)
        os.close(results)
        os.set_blocking(self.calls, False)
        os.set_blocking(self.results, False)
        self.form = form
        self.until = time.monotonic() + seconds
        self.buffer = bytearray()

    def __call__(self, *arguments):
        text = json.dumps(list(arguments)) if self.form == "json" else json.dumps(repr(list(arguments)))
        answer = self.ask(text.encode() + b"\n")
        return json.loads(answer) if self.form == "json" else value_of(answer)

    def ask(self, left):
        with selectors.DefaultSelector() as selector:
            selector.register(self.results, selectors.EVENT_READ)
            selector.register(self.calls, selectors.EVENT_WRITE)
            while b"\n" not in self.buffer:
                rest = self.until - time.monotonic()
                ready = selector.select(rest) if rest > 0 else []
                if not ready:
                    raise Failed("it took too long")
                for key, _ in ready:
                    if key.fd == self.calls:
                        try:
                            left = left[os.write(self.calls, left[:65536]) :]
                        except BrokenPipeError:
                            raise Failed("it ended without a result") from None
                        if not left:
                            selector.unregister(self.calls)
                        continue
                    piece = os.read(self.results, 65536)
                    if not piece:
                        raise Failed("it ended without a result")
                    self.buffer += piece
                    if len(self.buffer) > OUTPUT:
                        raise Failed("its result is too large")
        line, _, rest = bytes(self.buffer).partition(b"\n")
        self.buffer = bytearray(rest)
        try:
            return json.loads(line)
        except (ValueError, RecursionError):
            raise Failed("its result cannot be read") from None

    def close(self):
        stop(self.process)
        os.close(self.calls)
        os.close(self.results)


def value_of(text):
    """Reads a value back; only plain ones have a way through."""
    special = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}
    if text in special:
        return special[text]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise Failed("its result is no plain value") from None


def check(job, solution, folder):
    """Runs assertions here, against the submission's function there."""
    callee = Callee(solution, "repr", job["name"], job["seconds"], folder)

    def expire(signum, frame):
        raise Failed("it took too long")

    signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, job["seconds"])
    try:
        # The prompt brings the helpers that assertions use; of the function itself it has the head alone.
        space = {"__name__": "tests"}
        exec(compile(job["prompt"], "prompt.py", "exec"), space)
        exec(compile(job["test"], "test.py", "exec"), space)
        space["check"](callee)
        return "passed"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        callee.close()


def run(job, test):
    with tempfile.TemporaryDirectory() as folder:
        solution = os.path.join(folder, "solution.py")
        with open(solution, "w", encoding="utf-8") as text:
            text.write(job["solution"])
        try:
            if job["mode"] == "check":
                return {"output": check(job, solution, folder), "code": 0}
            if job["mode"] == "call":
                callee = Callee(solution, "json", job["name"], job["seconds"], folder)
                try:
                    return {"output": json.dumps(callee(*test)), "code": 0}
                finally:
                    callee.close()
            output, code = program(solution, test, job["seconds"], folder)
            return {"output": output, "code": code}
        except Failed as error:
            return {"failed": str(error)}
        except BaseException as error:
            if job["mode"] != "check":
                raise
            # An assertion, or whatever the assertions raised on a wrong value.
            return {"failed": type(error).__name__}


def main():
    with open(sys.argv[1], encoding="utf-8") as text:
        job = json.load(text)
    os.unlink(sys.argv[1])
    if LIBC.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 or start(["-c", PROBE], "/").wait() != 0:
        raise SystemExit(NOT_CLOSED)
    for number, test in enumerate(job["tests"]):
        result = run(job, test)
        print(json.dumps({"nonce": job["nonce"], "test": number, **result}), flush=True)
        if job["stop"] and "failed" in result:
            break
    print(json.dumps({"nonce": job["nonce"], "end": True}), flush=True)


main()
