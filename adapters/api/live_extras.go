package api

import (
	"encoding/json"
	"fmt"

	"hexarena/eventstore"
	"hexarena/projections"
	"hexarena/projections/live"
	"hexarena/projections/matches"
)

// liveExtras are those of the endpoints of running matches.
func liveExtras(m *exampleMatch) (map[string]extra, error) {
	last, _ := m.history.Last(false)
	list, frame := new(liveOutput), &frameOutput{Body: last}
	list.Body.Matches = []live.Match{{Summary: m.summary(matches.Running), Turn: last.Turn, Scores: last.Scores}}
	data, err := json.Marshal(last)
	if err != nil {
		return nil, err
	}
	end, err := json.Marshal(m.summary(matches.Completed))
	if err != nil {
		return nil, err
	}
	named := append(fmt.Appendf(nil, `{"matchId":%q,`, exampleID), data[1:]...)
	away := []error{eventstore.ErrUnavailable}
	unread := append([]error{projections.ErrStopped}, away...)
	return map[string]extra{
		"list-live": {example: list, refuses: away},
		"get-live": {
			about: "The same as in /matches/{id}/frames. Hexes and ports, which do not change, come from /matches/{id}/frames?limit=1.", example: frame, refuses: unread,
		},
		"stream-live": {
			about: "Server-sent events. `event: frame` has a Frame with its `matchId` as data; the stream begins with the newest of each match. `event: end` has the MatchSummary of a match that has ended. There are no ids: a reader that comes again begins anew. One that is slow misses frames, never an end. Comments keep the line alive.",
			text:  fmt.Sprintf("event: frame\ndata: %s\n\n:\n\nevent: end\ndata: %s\n\n", named, end), refuses: away,
		},
		"stream-match": {
			about: "Server-sent events. `event: frame` has a Frame as data and its seq as id. The stream goes on behind `Last-Event-ID`, or begins with the newest frame where that names none of the match; one that is slow misses frames, never the newest. It ends with `event: end`, whose data is the MatchSummary. Of a match that has ended it is the last frame, and the end. Comments keep the line alive. An address may have 20 streams open.",
			text:  fmt.Sprintf("event: frame\nid: %d\ndata: %s\n\n:\n\nevent: end\ndata: %s\n\n", last.Seq, data, end), refuses: unread,
		},
	}, nil
}
