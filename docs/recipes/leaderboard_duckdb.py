"""Computes the leaderboard of a mode from an export, with DuckDB (pip install duckdb).

    python leaderboard_duckdb.py DIR standard
"""

import json
import sys
from pathlib import Path

import duckdb

folder, mode = sys.argv[1], sys.argv[2]


def table(name):
    if any(Path(folder, name).glob("*.parquet")):
        return f"read_parquet('{folder}/{name}/*.parquet')"
    return f"read_json('{folder}/{name}/*.jsonl', format = 'newline_delimited')"


rows = duckdb.execute(
    f"""
    WITH latest AS (
        SELECT bot_id, arg_max(rating_after, position) AS rating, count(*) AS games_played
        FROM {table("rating_changes")} WHERE mode = $mode GROUP BY bot_id
    ), names AS (
        SELECT bot_id, arg_max(bot_name, position) AS name
        FROM {table("seats")} JOIN {table("matches")} USING (match_id) GROUP BY bot_id
    )
    SELECT row_number() OVER (ORDER BY rating DESC, games_played DESC, name, bot_id) AS rank,
           bot_id::VARCHAR AS bot_id, name, rating, games_played
    FROM latest JOIN names USING (bot_id) ORDER BY rank
    """,
    {"mode": mode},
)
columns = [c[0] for c in rows.description]
print(json.dumps([dict(zip(columns, row)) for row in rows.fetchall()]))
