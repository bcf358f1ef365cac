package audit

import (
	"bytes"
	"encoding/json"
	"strings"

	"hexarena/domain/game"
	"hexarena/domain/match"
	"hexarena/domain/strictjson"
)

// The type played is an action event with its parsed action.
type played struct {
	match.ActionPlayed
	parsedAction
}

type parsedAction struct {
	raw    json.RawMessage
	answer match.Answer
	err    error // why the action could not be read
	whole  bool  // whether the action has only the fields of its schema
}

// knownActions holds actions that were already read, by their JSON. Most actions occur
// many times, such as the end of a turn.
type knownActions map[actionText]parsedAction

// These limits bound the memory of knownActions.
const (
	maxKnown      = 10_000
	maxKnownBytes = 100
)

type actionText struct {
	kind game.Kind
	raw  string
}

func (k *knownActions) read(kind game.Kind, raw string) parsedAction {
	a, known := (*k)[actionText{kind, raw}]
	if known {
		return a
	}
	a.raw = json.RawMessage(raw)
	a.answer, a.err = match.ReadAction(kind, a.raw)
	a.whole = a.err == nil && sameText(a.raw, a.answer.Sent)
	if *k == nil {
		*k = knownActions{}
	}
	if len(*k) < maxKnown && len(raw) <= maxKnownBytes {
		(*k)[actionText{kind, strings.Clone(raw)}] = a // a copy, because raw shares the memory of its record
	}
	return a
}

func readAction(r *strictjson.Reader, seat int, known *knownActions) *played {
	d, action := &played{ActionPlayed: match.ActionPlayed{Seat: seat}}, ""
	r.Object(need("decision", &d.Decision), need("kind", &d.Kind), need("action", func() { action = r.Raw() }),
		need("default", &d.Default), need("elapsedMs", func() {
			elapsed := int64(r.Integer())
			d.ElapsedMs = &elapsed
		}).OrNull(), may("collected", &d.Collected))
	kind, ok := game.ParseKind(d.Kind)
	if !ok {
		r.Fail("there is no kind of decision %q", d.Kind)
	}
	if r.Err() == nil {
		d.parsedAction = known.read(kind, action)
		d.Action = d.raw
	}
	return d
}

// sameText reports whether action equals sent, apart from white space.
func sameText(action, sent []byte) bool {
	if bytes.Equal(action, sent) {
		return true
	}
	var b bytes.Buffer
	return json.Compact(&b, action) == nil && bytes.Equal(b.Bytes(), sent)
}

// isDefault reports whether p is the expected default. The fields of its action may be
// in a different order. isDefault also compares the lengths of the JSON, to notice an
// extra field such as talk.
func (p *played) isDefault(want match.ActionPlayed) bool {
	if !p.whole || !p.Default || p.Seat != want.Seat || p.Decision != want.Decision || p.Kind != want.Kind ||
		p.ElapsedMs != nil || p.Collected != nil || len(p.answer.Sent) != len(want.Action) {
		return false
	}
	if bytes.Equal(p.answer.Sent, want.Action) {
		return true
	}
	kind, _ := game.ParseKind(want.Kind)
	a, err := match.ReadAction(kind, want.Action)
	return err == nil && a.Action == p.answer.Action
}
