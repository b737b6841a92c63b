#!/usr/bin/env python3
"""Commits rows to an SQLite database one by one, and prints the latencies of the commits.

    commit-latency.py DATABASE [COMMITS]
"""

import sqlite3
import sys
import time


def main() -> None:
    path, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    database = sqlite3.connect(path, timeout=60)
    database.execute("PRAGMA journal_mode = WAL")
    # Each commit waits for a flush of the drive.
    database.execute("PRAGMA synchronous = FULL")
    database.execute("CREATE TABLE IF NOT EXISTS rows (number INTEGER PRIMARY KEY, text TEXT)")
    latencies, errors = [], 0
    for _ in range(count):
        begin = time.monotonic()
        try:
            database.execute("INSERT INTO rows (text) VALUES (hex(randomblob(500)))")
            database.commit()
        except sqlite3.Error as error:
            errors += 1
            print(f"error: {error}")
            if errors == 3:
                break
        latencies.append(time.monotonic() - begin)
    latencies.sort()
    quantile = lambda share: 1000 * latencies[min(int(share * len(latencies)), len(latencies) - 1)]
    print(
        f"{len(latencies)} commits, {errors} errors; median {quantile(0.5):.2f} ms, "
        f"p99 {quantile(0.99):.2f} ms, slowest {1000 * latencies[-1]:.0f} ms"
    )


main()
