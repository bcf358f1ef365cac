-- The column health is the JSON of health.Bot. failed names the decision of the bot's
-- latest error, so that a detail of this decision finds the bot. The table playing has
-- the matches that no ladder has closed: the bots in the order of the table, and from the
-- start of the match also by seat. claims counts their MatchClaimed events, which have no
-- seq. If the bot has ever been in trouble, changed and trouble are since and trouble of
-- health, as Unix times in nanoseconds, and state is its state. So a list of many changes
-- decodes no JSON.
--
-- The table owned has the bots of accounts that are not deleted. The table events has the
-- newest events of each owner. n counts an owner's events from 1, without gaps. position
-- and part make up the id, and event is the JSON of Event.

CREATE TABLE bots (bot TEXT PRIMARY KEY, failed TEXT, changed INTEGER, state TEXT, trouble INTEGER, health TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX bots_by_error ON bots (failed) WHERE failed IS NOT NULL;
CREATE INDEX bots_by_change ON bots (changed) WHERE changed IS NOT NULL;
CREATE TABLE playing (match TEXT PRIMARY KEY, seated TEXT, bots TEXT, claims INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE owned (bot TEXT PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL, mode TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE events (
	owner TEXT NOT NULL,
	n INTEGER NOT NULL,
	position INTEGER NOT NULL,
	part INTEGER NOT NULL,
	event TEXT NOT NULL,
	PRIMARY KEY (owner, n)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX events_by_id ON events (owner, position, part);
