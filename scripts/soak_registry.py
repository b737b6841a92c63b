"""Kills a registry under load repeatedly, and checks that it keeps every acknowledged result.

usage: soak_registry.py PROGRAM SECONDS SEED

Submitters send measurements, simulations and probes with tokens, readers read results, and the server is killed
(SIGKILL) at random moments and started again. After each start, every acknowledged result has to be on the shelf, and
the results acknowledged since the last start are read. At the end, all results are read. Prints a table; ends with
status 1 if anything was lost.
"""

import copy
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

SAMPLES = pathlib.Path(__file__).parent.parent / "testdata/results"
SUBMITTERS, READERS = 4, 2
# The addresses that receive and return results of each kind.
KINDS = {
    "v1": ("/api/submissions", "/api/results/"),
    "simulated": ("/api/simulations", "/api/simulations/"),
    "probed": ("/api/probes", "/api/probes/"),
}


class Server:
    """The registry process and its counters."""

    def __init__(self, program, folder, seed):
        self.program, self.folder = program, folder
        self.random = random.Random(seed)
        self.tokens = [self.run("registry", str(folder), "add", f"soak-{n}").split()[-1] for n in range(SUBMITTERS)]
        self.lock = threading.Lock()
        self.acknowledged, self.recent = {}, {}
        self.counts = dict.fromkeys(["kills", "answers", "broken", "resumed", "reads"], 0)
        self.stop = threading.Event()
        self.start("127.0.0.1:0")

    def run(self, *arguments):
        return subprocess.run([self.program, *arguments], check=True, capture_output=True, text=True).stdout

    def start(self, listen):
        command = [self.program, "serve", "--registry", str(self.folder), "--listen", listen, "--json"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.url = json.loads(self.process.stdout.readline())["url"].rstrip("/")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.counts["kills"] += 1
        self.start(urllib.parse.urlsplit(self.url).netloc)

    def ask(self, method, path, body=None, token=None, kind="application/json"):
        """Returns the status and the answer; the status is None if the server did not answer."""
        headers = {"content-type": kind} | ({"authorization": f"Bearer {token}"} if token else {})
        request = urllib.request.Request(self.url + path, body, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()
        except (OSError, urllib.error.URLError, ValueError) as _:
            return None, b""
        except Exception:  # an answer that was cut off
            return None, b""

    def insist(self, *arguments, **named):
        """Repeats `ask` until the server is up and not busy, or the soak ends (status None)."""
        broken = 0
        while True:
            status, answer = self.ask(*arguments, **named)
            if status not in (None, 429, 503):
                self.counts["answers"] += 1
                self.counts["resumed"] += broken > 0
                return status, answer
            broken += status is None
            self.counts["broken"] += status is None
            time.sleep(0.2 if status is None else 2)
            if self.stop.is_set():
                return None, b""


def submit(server, name, body, token):
    """Submits until the registry acknowledges; returns the id, or None at the end of the soak."""
    address, _ = KINDS[name]
    status, answer = server.insist("POST", address, json.dumps(body).encode(), token)
    if status is None:
        return None
    if status == 409 and b"already published" in answer:  # The answer was lost.
        return json.loads(answer)["error"].split("`")[1]
    assert status == 200, (status, answer)
    staged = json.loads(answer)
    if name == "simulated":
        return staged["id"]
    for part in staged["missing"]:
        path = f"records/run-{part['run']:05}-{part['part']:03}.parquet"
        content = (SAMPLES / f"{name}.flashscope" / path).read_bytes()
        place = f"/api/submissions/{staged['id']}/records/{part['run']}/{part['part']}"
        status, answer = server.insist("PUT", place, content, token, kind="application/octet-stream")
        if status is None:
            return None
        assert status in (200, 204, 404), (status, answer)
    status, answer = server.insist("POST", f"/api/submissions/{staged['id']}/finish", b"{}", token)
    # It may be published although the answer was lost; then it is no longer staged.
    assert status in (None, 200, 404), (status, answer)
    return staged["id"] if status else None


def submitter(server, nth, bodies, seed):
    rng = random.Random(seed * 1000 + nth)
    while not server.stop.is_set():
        name = rng.choice(["v1", "simulated", "simulated", "probed"])
        body, unique = copy.deepcopy(bodies[name]), rng.getrandbits(48)
        if name == "v1":
            body["manifest"]["tool"]["version"] = str(unique)
        else:
            body["simulation" if name == "simulated" else "probe"]["seed"] = unique
        done = submit(server, name, body, server.tokens[nth])
        if done:
            with server.lock:
                server.acknowledged[done] = name
                server.recent[done] = name


def reader(server):
    while not server.stop.is_set():
        with server.lock:
            known = list(server.acknowledged.items())
        if known:
            done, name = random.Random(len(known)).choice(known)
            server.ask("GET", KINDS[name][1] + done)
            server.ask("GET", "/api/shelf?limit=20&sort=-started")
            server.counts["reads"] += 2
        time.sleep(0.2)


def on_the_shelf(server):
    """Returns the ids of all readable results on the shelf."""
    found, offset = set(), 0
    while True:
        status, answer = server.insist("GET", f"/api/shelf?limit=100&offset={offset}")
        if status is None:
            return found
        items = json.loads(answer)["items"]
        found |= {item["id"] for item in items if not item.get("problem")}
        if len(items) < 100:
            return found
        offset += len(items)


def check(server, results):
    """Returns the ids of the results that are missing or unreadable."""
    lost = set(results) - on_the_shelf(server)
    for done, name in results.items():
        status, answer = server.insist("GET", KINDS[name][1] + done)
        lost |= {done} if status not in (None, 200) else set()
        if name == "v1" and status == 200:
            status, _ = server.insist("GET", f"/api/results/{done}/runs/1/outline")
            lost |= {done} if status not in (None, 200) else set()
    return lost


def main(program, seconds, seed):
    with tempfile.TemporaryDirectory() as place:
        server = Server(program, pathlib.Path(place) / "registry", seed)
        sent = lambda name: server.run("submit", str(SAMPLES / f"{name}.flashscope"), "--to", server.url, "--dry-run")
        bodies = {name: json.loads(sent(name)) for name in KINDS}
        wrong = []
        threading.excepthook = lambda failed: wrong.append(repr(failed.exc_value))
        jobs = [threading.Thread(target=submitter, args=(server, n, bodies, seed), daemon=True) for n in range(SUBMITTERS)]
        jobs += [threading.Thread(target=reader, args=(server,), daemon=True) for _ in range(READERS)]
        end, lost, checked = time.monotonic() + seconds, set(), 0
        [job.start() for job in jobs]
        while time.monotonic() < end and not lost and not wrong:
            time.sleep(server.random.uniform(0.5, 12))
            # The results acknowledged before the kill.
            with server.lock:
                recent, server.recent = server.recent, {}
                before = set(server.acknowledged)
            server.kill()
            lost = before - on_the_shelf(server) | check(server, recent)
            checked += len(recent)
        with server.lock:
            before = dict(server.acknowledged)
        if not lost:
            server.kill()
            lost = check(server, before)
        server.stop.set()
        [job.join(timeout=130) for job in jobs]
        server.process.kill()
        kinds = {name: list(before.values()).count(name) for name in KINDS}
        lines = {
            "kills (SIGKILL) and starts": server.counts["kills"],
            "measurements acknowledged": kinds["v1"],
            "simulations acknowledged": kinds["simulated"],
            "probes acknowledged": kinds["probed"],
            "requests answered": server.counts["answers"],
            "requests interrupted by a kill": server.counts["broken"],
            "interrupted requests that succeeded later": server.counts["resumed"],
            "reads during the soak": server.counts["reads"],
            "acknowledged results lost": len(lost),
        }
        print(f"| a registry for {seconds} s | |\n|---|---:|")
        print("\n".join(f"| {what} | {count} |" for what, count in lines.items()))
        sys.exit(f"lost: {sorted(lost)}, wrong: {wrong}, seed {seed}" if lost or wrong else 0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
