-- The id of a match counts the closed matches. Within a mode, closed never decreases,
-- even if a writer's clock went back. A time therefore selects a range of ids. Times
-- are unix milliseconds. The columns placement, mu, sigma and games (the bot's number
-- of games by then) are null if the match was aborted. reason is the reason of the abort,
-- or null. used is the seat's time in milliseconds, or null if the match has no clocks.
-- before is the displayed rating before the match, or null if the match was aborted.
-- version is empty if the bot named none. opening is the pips of the settlements of the setup.
-- opening and turns are null in matches that ended before 2026-11-26.
-- results counts placements in completed matches with a number of players (resultKey in results.go).
-- playing has the matches that no ladder has closed; played and facts are JSON.

CREATE TABLE bots (id INTEGER PRIMARY KEY, bot TEXT NOT NULL, mode TEXT NOT NULL) STRICT;
CREATE TABLE matches (
    id INTEGER PRIMARY KEY, match TEXT NOT NULL, mode TEXT NOT NULL, closed INTEGER NOT NULL, ended INTEGER NOT NULL,
    reason TEXT, turns INTEGER
) STRICT;
CREATE INDEX matches_by_time ON matches (mode, closed);
CREATE TABLE seats (
    bot INTEGER NOT NULL, match INTEGER NOT NULL, seat INTEGER NOT NULL,
    placement INTEGER, mu REAL, sigma REAL, games INTEGER,
    strikes INTEGER NOT NULL, resigned INTEGER NOT NULL, missed INTEGER NOT NULL, used INTEGER, before REAL, version TEXT NOT NULL, opening INTEGER, PRIMARY KEY (bot, match)
) STRICT, WITHOUT ROWID;
CREATE INDEX seats_by_match ON seats (match, placement);
CREATE TABLE playing (match TEXT PRIMARY KEY, seats TEXT NOT NULL, ended INTEGER, played TEXT NOT NULL, facts TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE results (
    mode TEXT NOT NULL, players INTEGER NOT NULL, what TEXT NOT NULL, value INTEGER NOT NULL, placement INTEGER NOT NULL, n INTEGER NOT NULL,
    PRIMARY KEY (mode, players, what, value, placement)
) STRICT, WITHOUT ROWID;
