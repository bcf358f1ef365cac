-- A match gets a number, seq, when it is seated. The number is its position in every
-- list and never changes. The table listed has one row for each started match under
-- key 0 (all bots), one under the number of each of its bots, and one under the key of
-- each pair of its bots. A kind is a mode with a status. A query reads a few ranges of
-- listed, each in the order of the answer (docs/adr/0025).
--
-- The table days has the least and the greatest number of the matches that started on a
-- day (UTC). Matches start nearly in the order of their numbers, so a range of days is
-- nearly a range of numbers.

CREATE TABLE matches (
	seq INTEGER PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,
	mode TEXT NOT NULL,
	status TEXT NOT NULL,
	started TEXT, -- null: not started
	ended TEXT,   -- from its stream, or from its ladder if the stream has no end
	players BLOB NOT NULL,
	reason TEXT,  -- of the ladder's MatchVoided; null: not voided
	seats BLOB NOT NULL,
	scores BLOB,  -- one byte for each seat; null: no GameEnded
	turns INTEGER NOT NULL -- 0: unknown
) STRICT;
CREATE TABLE bots (
	bot INTEGER PRIMARY KEY, -- from 1
	id TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE listed (
	key INTEGER NOT NULL,
	kind INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	PRIMARY KEY (key, kind, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE days (
	day TEXT PRIMARY KEY, -- 2006-01-02
	first INTEGER NOT NULL,
	last INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
