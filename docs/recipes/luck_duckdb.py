"""Computes the luck index of every seat from the events of an export, with DuckDB (pip install duckdb).

    python luck_duckdb.py DIR

docs/statistics.md defines the index. The query uses only rolls, buildings, the bandit and the
board. It reads no column with a finished number.
"""

import json
import sys
from pathlib import Path

import duckdb

folder = sys.argv[1]


def table(name, columns):
    if any(Path(folder, name).glob("*.parquet")):
        return f"read_parquet('{folder}/{name}/*.parquet')"
    return f"read_json('{folder}/{name}/*.jsonl', format = 'newline_delimited', columns = {columns})"


# The vertices of each hex, as docs/rules.md numbers them.
centers = [(2 * c + [2, 1, 0, 1, 2][r], 3 * r) for r in range(5) for c in range([3, 4, 5, 4, 3][r])]
corners = [[(x + dx, y + dy) for dx, dy in [(0, -2), (1, -1), (1, 1), (0, 2), (-1, 1), (-1, -1)]] for x, y in centers]
vertices = {c: n for n, c in enumerate(sorted({c for h in corners for c in h}, key=lambda c: (c[1], c[0])))}
duckdb.execute("CREATE TABLE corners (hex INTEGER, vertex INTEGER)")
duckdb.executemany("INSERT INTO corners VALUES (?, ?)", [(h, vertices[c]) for h, cs in enumerate(corners) for c in cs])

rows = duckdb.execute(
    f"""
    WITH events AS (
        SELECT match_id, seq, kind, seat, data::JSON AS data
        FROM {table("events", {"match_id": "VARCHAR", "seq": "INTEGER", "kind": "VARCHAR", "seat": "INTEGER", "data": "JSON"})}
    ), actions AS (
        SELECT match_id, seq, seat, data->>'kind' AS kind, data->'action' AS action, data->'action'->>'type' AS type
        FROM events WHERE kind = 'action'
    ), hexes AS (
        SELECT match_id, (h->>'id')::INTEGER AS hex, (h->>'token')::INTEGER AS token
        FROM (SELECT match_id, unnest((data->'hexes')::JSON[]) AS h FROM events WHERE kind = 'board')
        WHERE h->>'token' IS NOT NULL
    ), pieces AS ( -- a settlement is one row, and its city is a second row
        SELECT match_id, seq, seat, coalesce(action->>'settlement', action->>'vertex')::INTEGER AS vertex
        FROM actions WHERE kind = 'setup' OR type IN ('build_settlement', 'build_city')
    ), bandit AS (
        SELECT match_id, seq, (data->>'bandit')::INTEGER AS hex FROM events WHERE kind = 'board'
        UNION ALL
        SELECT match_id, seq, (action->>'hex')::INTEGER FROM actions WHERE kind = 'bandit' OR type = 'play_knight'
    ), rolls AS ( -- a roll right before the end pays nothing
        SELECT r.match_id, r.seq, (r.data->'dice'->>0)::INTEGER + (r.data->'dice'->>1)::INTEGER AS total
        FROM events r LEFT JOIN events n ON n.match_id = r.match_id AND n.seq = r.seq + 1 AND n.kind = 'end'
        WHERE r.kind = 'roll' AND n.seq IS NULL
    ), placed AS (
        SELECT r.match_id, r.seq, r.total, b.hex AS bandit
        FROM rolls r ASOF JOIN bandit b ON r.match_id = b.match_id AND r.seq > b.seq
    ), paid AS (
        SELECT p.match_id, p.seat, sum((h.token = r.total)::INTEGER) AS received, sum(6 - abs(h.token - 7)) AS expected36
        FROM placed r
        JOIN pieces p ON p.match_id = r.match_id AND p.seq < r.seq
        JOIN corners c ON c.vertex = p.vertex
        JOIN hexes h ON h.match_id = r.match_id AND h.hex = c.hex AND h.hex <> r.bandit
        GROUP BY p.match_id, p.seat
    )
    SELECT match_id, seat, coalesce(received, 0)::INTEGER AS received,
           coalesce(expected36, 0)::INTEGER AS expected36, (36 * coalesce(received, 0) - coalesce(expected36, 0))::INTEGER AS luck36
    FROM (SELECT match_id, seat FROM {table("seats", {"match_id": "VARCHAR", "seat": "INTEGER"})}) LEFT JOIN paid USING (match_id, seat)
    ORDER BY match_id, seat
    """
)
columns = [c[0] for c in rows.description]
print(json.dumps([dict(zip(columns, row)) for row in rows.fetchall()]))
