-- The column health is the JSON of health.Bot. failed names the decision of the bot's
-- latest error, so that a detail of this decision finds the bot. The table playing has
-- the matches that no ladder has closed. claims counts their MatchClaimed events, which
-- have no seq.

CREATE TABLE bots (bot TEXT PRIMARY KEY, failed TEXT, health TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX bots_by_error ON bots (failed) WHERE failed IS NOT NULL;
CREATE TABLE playing (match TEXT PRIMARY KEY, bots TEXT NOT NULL, claims INTEGER NOT NULL) STRICT, WITHOUT ROWID;
