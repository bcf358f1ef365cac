-- Times are unix milliseconds.

CREATE TABLE owners (
	id TEXT PRIMARY KEY,
	handle TEXT,
	suspended INTEGER NOT NULL,
	deleted INTEGER -- the number of the deletion, from 1; null: not deleted
) STRICT, WITHOUT ROWID;
CREATE TABLE bots (
	id TEXT PRIMARY KEY,
	owner TEXT NOT NULL,
	name TEXT NOT NULL,
	mode TEXT NOT NULL,
	url TEXT NOT NULL,
	status TEXT NOT NULL, -- active, paused or removed
	registered INTEGER NOT NULL,
	changed INTEGER NOT NULL, -- when the status last changed; a removal does not count
	paused_by TEXT NOT NULL,
	suspended INTEGER NOT NULL,
	notified INTEGER NOT NULL,
	trial TEXT NOT NULL, -- the trial that has not ended; empty: none
	trial_ordered INTEGER NOT NULL -- 0 without a trial
) STRICT, WITHOUT ROWID;
CREATE TABLE keys (
	id TEXT PRIMARY KEY,
	owner TEXT NOT NULL,
	public_key BLOB NOT NULL,
	revoked INTEGER NOT NULL,
	notice_owed INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
