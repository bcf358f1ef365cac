-- A match gets a number, seq, when it is seated. The number is its position in every
-- list and never changes. The table listed has one row for each started match under
-- bot 0 (all bots), and one under each of its bots. A kind is a mode with a status. A
-- query reads a few ranges of listed, each in the order of the answer (docs/adr/0025).

CREATE TABLE matches (
	seq INTEGER PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,
	mode TEXT NOT NULL,
	status TEXT NOT NULL,
	started TEXT, -- null: not started
	ended TEXT,   -- from its stream, or from its ladder if the stream has no end
	players BLOB NOT NULL,
	reason TEXT,  -- of the ladder's MatchVoided; null: not voided
	seats BLOB NOT NULL
) STRICT;
CREATE TABLE bots (
	bot INTEGER PRIMARY KEY, -- from 1
	id TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE listed (
	bot INTEGER NOT NULL,
	kind INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	PRIMARY KEY (bot, kind, seq)
) STRICT, WITHOUT ROWID;
