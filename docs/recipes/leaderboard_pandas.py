"""Computes the leaderboard of a mode from an export, with pandas and pyarrow
(pip install pandas pyarrow).

    python leaderboard_pandas.py DIR standard
"""

import sys
from pathlib import Path

import pandas as pd

folder, mode = Path(sys.argv[1]), sys.argv[2]


def table(name):
    if any((folder / name).glob("*.parquet")):
        return pd.read_parquet(folder / name, engine="pyarrow")
    return pd.concat(pd.read_json(f, lines=True) for f in sorted((folder / name).glob("*.jsonl")) if f.stat().st_size)


changes = table("rating_changes").query("mode == @mode").sort_values("position")
latest = changes.groupby("bot_id").agg(rating=("rating_after", "last"), games_played=("match_id", "count"))
seats = table("seats").merge(table("matches")[["match_id", "position"]], on="match_id").sort_values("position")
latest["name"] = seats.groupby("bot_id")["bot_name"].last()
board = latest.reset_index().sort_values(
    ["rating", "games_played", "name", "bot_id"], ascending=[False, False, True, True]
)
board.insert(0, "rank", range(1, len(board) + 1))
print(board[["rank", "bot_id", "name", "rating", "games_played"]].to_json(orient="records"))
