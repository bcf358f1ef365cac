package api

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"net/http"

	"hexarena/domain/arena"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/projections"
	"hexarena/projections/signedlog"
)

// SignedLog is the projection of the log of match results.
type SignedLog interface {
	Size(ctx context.Context, mode string) (uint64, error)
	Head(ctx context.Context, mode string) (size uint64, root []byte, err error)
	Inclusion(ctx context.Context, mode, matchID string) (i signedlog.Inclusion, found bool, err error)
	Consistency(ctx context.Context, mode string, from, to uint64) ([][]byte, error)
}

type logPath struct {
	Mode string `path:"mode" enum:"standard,parley"`
}

type inclusionQuery struct {
	logPath
	Match string `query:"match" required:"true" minLength:"1" doc:"The id of a match that has ended."`
}

type consistencyQuery struct {
	logPath
	From int `query:"from" required:"true" minimum:"1" doc:"The size of the earlier head."`
	To   int `query:"to" required:"true" minimum:"1" doc:"The size of the later one."`
}

type inclusionBody struct {
	Index  uint64   `json:"index" doc:"The leaf's place, from 0."`
	Size   uint64   `json:"size" doc:"Of the tree in which it is shown to be."`
	Hashes [][]byte `json:"hashes" nullable:"false" doc:"RFC 6962, 2.1.1: from the leaf's sibling up."`
}

type consistencyBody struct {
	From   int      `json:"from"`
	To     int      `json:"to"`
	Hashes [][]byte `json:"hashes" nullable:"false" doc:"RFC 6962, 2.1.2."`
}

type seedKeyBody struct {
	ID   string  `json:"id"`
	Hash string  `json:"hash" doc:"SHA-256 of the key, in hex."`
	Key  *string `json:"key" doc:"In hex; null until it is published, after its last match."`
}

type seedKeysBody struct {
	Keys []seedKeyBody `json:"keys" nullable:"false" doc:"As they came into use."`
}

type inclusionOutput struct {
	maybePrepared
	Body inclusionBody
}

type consistencyOutput struct {
	maybePrepared
	Body consistencyBody
}

type seedKeysOutput struct {
	maybePrepared
	Body seedKeysBody
}

func (s *Server) registerLog() {
	register(s, endpoint[logPath, documentOutput]{
		id: "get-log-head", method: http.MethodGet, path: "/log/{mode}/head", tag: "log", summary: "The signed head of a mode's log of results",
		find: s.findLog, run: s.getLogHead, answers: []media{{kind: "text/plain"}},
	})
	register(s, endpoint[inclusionQuery, inclusionOutput]{
		id: "get-log-inclusion", method: http.MethodGet, path: "/log/{mode}/inclusion", tag: "log", summary: "The proof that a match is in the log",
		find: func(c *call, in *inclusionQuery) error { return s.findLog(c, &in.logPath) }, tagged: true, run: s.getLogInclusion,
	})
	register(s, endpoint[consistencyQuery, consistencyOutput]{
		id: "get-log-consistency", method: http.MethodGet, path: "/log/{mode}/consistency", tag: "log", summary: "The proof that the log has only grown",
		find: func(c *call, in *consistencyQuery) error { return s.findLog(c, &in.logPath) }, tagged: true, run: s.getLogConsistency,
	})
	register(s, endpoint[nothing, seedKeysOutput]{
		id: "get-seed-keys", method: http.MethodGet, path: "/log/keys", tag: "log", summary: "The keys that server seeds come from",
		tagged: true, run: s.getSeedKeys,
	})
}

func (s *Server) findLog(_ *call, in *logPath) error {
	if s.SignedLog == nil || !ladder.IsMode(in.Mode) {
		return errNotFound
	}
	return nil
}

// current is an answer that is asked for anew each time.
type current struct{ *lasting }

func (a current) write(c *call, status int) { a.send(c, status, "no-cache") }

func newCurrent(body any) (maybePrepared, error) {
	l, err := newLasting(body)
	return maybePrepared{current{l}}, err
}

func (s *Server) getLogHead(c *call, in *logPath) (*documentOutput, error) {
	size, root, err := s.SignedLog.Head(c.ctx, in.Mode)
	if err != nil {
		return nil, err
	}
	signed, err := s.SignHead(in.Mode, size, root)
	return &documentOutput{newDocument("text/plain; charset=utf-8", signed)}, err
}

func (s *Server) getLogInclusion(c *call, in *inclusionQuery) (*inclusionOutput, error) {
	p, found, err := s.SignedLog.Inclusion(c.ctx, in.Mode, in.Match)
	if err == nil && !found {
		err = &detailed{errNotFound, "the log of " + in.Mode + " does not hold this match: it is a leaf once its ladder has closed it"}
	}
	if err != nil {
		return nil, err
	}
	out := &inclusionOutput{Body: inclusionBody{p.Index, p.Size, listed(p.Hashes)}}
	out.maybePrepared, err = newCurrent(out.Body)
	return out, err
}

func (s *Server) getLogConsistency(c *call, in *consistencyQuery) (*consistencyOutput, error) {
	size, err := s.SignedLog.Size(c.ctx, in.Mode)
	switch {
	case err != nil:
		return nil, err
	case uint64(in.To) > size:
		return nil, invalidQuery("to", fmt.Sprintf("must be at most %d, the size of the log", size))
	case in.From > in.To:
		return nil, invalidQuery("from", "must be at most to")
	}
	key := fmt.Sprintf("consistency %s %d %d", in.Mode, in.From, in.To)
	l, err := s.kept.get(c.ctx, key, func(ctx context.Context) (any, error) {
		hashes, err := s.SignedLog.Consistency(ctx, in.Mode, uint64(in.From), uint64(in.To))
		return consistencyBody{in.From, in.To, listed(hashes)}, err
	})
	return &consistencyOutput{maybePrepared: maybePrepared{l}}, err
}

// listed writes none as an empty list.
func listed(hashes [][]byte) [][]byte { return append([][]byte{}, hashes...) }

func (s *Server) getSeedKeys(c *call, _ *nothing) (*seedKeysOutput, error) {
	kind := eventstore.Kind[arena.Keys, arena.Event]{Decode: arena.DecodeKeys, Evolve: arena.EvolveKeys}
	keys, _, err := kind.Load(c.ctx, s.Log, arena.KeysStream, arena.Keys{})
	if err != nil {
		return nil, err
	}
	out := &seedKeysOutput{Body: seedKeysBody{Keys: []seedKeyBody{}}}
	for _, k := range keys.Seeds {
		shown := seedKeyBody{ID: k.ID, Hash: fmt.Sprintf("%x", k.Hash[:])}
		if k.Revealed != nil {
			key := fmt.Sprintf("%x", k.Revealed[:])
			shown.Key = &key
		}
		out.Body.Keys = append(out.Body.Keys, shown)
	}
	out.maybePrepared, err = newCurrent(out.Body)
	return out, err
}

// logExtras are what the description says of these.
func logExtras() (map[string]extra, error) {
	sum := func(text string) []byte { h := sha256.Sum256([]byte(text)); return h[:] }
	hash, key := fmt.Sprintf("%x", sum("key")), fmt.Sprintf("%x", sum("another"))
	head, err := signedlog.Sign(signedlog.Head{Origin: signedlog.Origin("arena.example", ladder.Standard), Size: 2, Root: sum("root")}, ed25519.NewKeyFromSeed(sum("example")))
	return map[string]extra{
		"get-log-head": {
			about:   "A checkpoint of the C2SP's tlog-checkpoint: origin, size, root hash, and the platform key's signature. One that you keep must be continued by every later one.",
			text:    string(head),
			refuses: []error{eventstore.ErrUnavailable, projections.ErrStopped},
		},
		"get-log-inclusion": {
			about:   "The leaf is the canonical JSON (RFC 8785) of the match's record: the fields of Match, commitment and proof.",
			example: &inclusionOutput{Body: inclusionBody{Index: 1, Size: 2, Hashes: [][]byte{sum("leaf")}}},
			refuses: []error{eventstore.ErrUnavailable, projections.ErrStopped},
		},
		"get-log-consistency": {
			about:   "The tree of the later size begins with the leaves of the earlier one.",
			example: &consistencyOutput{Body: consistencyBody{From: 1, To: 2, Hashes: [][]byte{sum("leaf")}}},
			refuses: []error{eventstore.ErrUnavailable, projections.ErrStopped},
		},
		"get-seed-keys": {
			about:   "A server seed is the HMAC-SHA256 of its match's id under one of these.",
			example: &seedKeysOutput{Body: seedKeysBody{Keys: []seedKeyBody{{ID: exampleKey, Hash: fmt.Sprintf("%x", sum(key)), Key: &key}, {ID: exampleBot, Hash: hash}}}},
			refuses: []error{eventstore.ErrUnavailable},
		},
	}, err
}
