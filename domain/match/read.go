package match

import (
	"encoding/json"

	"hexarena/domain/game"
)

// Answer is what an answer says, as an auditor reads it again.
type Answer struct {
	Action game.Action
	Talk   string
	Sent   json.RawMessage // the fields of the schema alone, as they stood
}

// ReadAction reads an action of a kind. The error is an ErrMalformed or the
// *game.Illegal that the action's own fields break; what the rules say of it
// is game's.
func ReadAction(kind game.Kind, action []byte) (Answer, error) {
	v, err := parseJSON(action)
	if err != nil {
		return Answer{}, malformed("%v", err)
	}
	a, err := parseAction(kind, v)
	return Answer{a.action, a.talk, a.json}, err
}

// ReadFrame reads a raw frame as the answer to a decision of a kind: its id,
// and what ReadAction reads.
func ReadFrame(kind game.Kind, frame []byte) (id int, a Answer, err error) {
	id, action, err := envelope(frame)
	if err != nil {
		return 0, Answer{}, err
	}
	read, err := parseAction(kind, action)
	return id, Answer{read.action, read.talk, read.json}, err
}
