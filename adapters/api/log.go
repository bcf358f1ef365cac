package api

import (
	"context"
	"encoding/hex"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"hexarena/adapters/rest"
	"hexarena/adapters/rest/problem"
	"hexarena/domain/arena"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/projections/signedlog"
)

// SignedLog is the projection of the two signed trees of each mode. Tile and
// LadderInclusion read the ladder tree: its tiles, and proofs for its entries. The
// other methods read the tree of results.
type SignedLog interface {
	Size(ctx context.Context, mode string) (uint64, error)
	Head(ctx context.Context, mode string) (size uint64, root []byte, err error)
	Inclusion(ctx context.Context, mode, matchID string) (i signedlog.Inclusion, found bool, err error)
	Consistency(ctx context.Context, mode string, from, to uint64) ([][]byte, error)
	Tile(ctx context.Context, mode string, t tlog.Tile) (data []byte, found bool, err error)
	LadderInclusion(ctx context.Context, mode string, index, size uint64) ([][]byte, error)
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
	To   int `query:"to" required:"true" minimum:"1" doc:"The size of the later head."`
}

// find returns an error if the mode has no signed log.
func (p *logPath) find(c *call) error {
	if c.server.SignedLog == nil || !ladder.IsMode(p.Mode) {
		return problem.ErrNotFound
	}
	return nil
}

func (s *Server) getLogHead(c *call, in *logPath) (*response, error) {
	size, root, err := s.SignedLog.Head(c.ctx, in.Mode)
	if err != nil {
		return nil, err
	}
	signed, err := s.SignHead(in.Mode, size, root)
	if err != nil {
		return nil, err
	}
	return newResponse("text/plain; charset=utf-8", revalidated, signed), nil
}

func (s *Server) getLogInclusion(c *call, in *inclusionQuery) (out maybeEncoded[rest.Inclusion], err error) {
	p, found, err := s.SignedLog.Inclusion(c.ctx, in.Mode, in.Match)
	if err == nil && !found {
		err = problem.WithDetail(problem.ErrNotFound, "the log of "+in.Mode+" does not contain this match; the arena adds each match after the ladder has closed it")
	}
	if err != nil {
		return out, err
	}
	out.encoded, err = newJSONResponse(revalidated, rest.Inclusion{Index: p.Index, Size: p.Size, Hashes: listed(p.Hashes)})
	return out, err
}

func (s *Server) getLogConsistency(c *call, in *consistencyQuery) (out maybeEncoded[rest.Consistency], err error) {
	size, err := s.SignedLog.Size(c.ctx, in.Mode)
	switch {
	case err != nil:
		return out, err
	case uint64(in.To) > size:
		return out, problem.InvalidQuery("to", fmt.Sprintf("must be at most %d, the size of the log", size))
	case in.From > in.To:
		return out, problem.InvalidQuery("from", "must not be greater than the parameter to")
	}
	key := fmt.Sprintf("consistency %s %d %d", in.Mode, in.From, in.To)
	out.encoded, err = s.responses.get(c.ctx, key, func(ctx context.Context) (any, error) {
		hashes, err := s.SignedLog.Consistency(ctx, in.Mode, uint64(in.From), uint64(in.To))
		return rest.Consistency{From: in.From, To: in.To, Hashes: listed(hashes)}, err
	})
	return out, err
}

// The function listed() returns a copy of a list. The copy is never nil, so that JSON
// shows an empty list as [].
func listed(hashes [][]byte) [][]byte { return append([][]byte{}, hashes...) }

func (s *Server) getSeedKeys(c *call, _ *nothing) (out maybeEncoded[rest.SeedKeys], err error) {
	kind := eventstore.Kind[arena.Keys, arena.Event]{Decode: arena.DecodeKeys, Evolve: arena.EvolveKeys}
	keys, _, err := kind.Load(c.ctx, s.Log, arena.KeysStream, arena.Keys{})
	if err != nil {
		return out, err
	}
	list := rest.SeedKeys{Keys: []rest.SeedKey{}}
	for _, k := range keys.Seeds {
		shown := rest.SeedKey{ID: k.ID, Hash: hex.EncodeToString(k.Hash[:])}
		if k.Revealed != nil {
			key := hex.EncodeToString(k.Revealed[:])
			shown.Key = &key
		}
		list.Keys = append(list.Keys, shown)
	}
	out.encoded, err = newJSONResponse(revalidated, list)
	return out, err
}
