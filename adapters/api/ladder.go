package api

import (
	"context"
	"fmt"
	"strconv"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/tlog"

	"hexarena/adapters/rest"
	"hexarena/adapters/rest/problem"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
)

const (
	plainText = "text/plain; charset=utf-8"

	defaultEvents = 100     // number of events on a page if the caller sets no limit
	eventsPerCall = 300     // a page counts as one additional call for every eventsPerCall events
	maxEventBytes = 1 << 20 // a page ends after this many bytes of data
)

type tilePath struct {
	logPath
	Path string `path:"path" doc:"The path of the tile as in C2SP tlog-tiles, including the slashes: the level or the word entries, then the index, then .p/ and a width if the tile is partial."`

	tile tlog.Tile // set by find
}

// find returns an error if the path does not name a tile.
func (p *tilePath) find(c *call) (err error) {
	if err := p.logPath.find(c); err != nil {
		return err
	}
	if p.tile, err = torchwood.ParseTilePath("tile/" + p.Path); err != nil || torchwood.TilePath(p.tile) != "tile/"+p.Path {
		return problem.WithDetail(problem.ErrNotFound, "this is not the path of a tile or of a bundle of entries (C2SP tlog-tiles)")
	}
	return nil
}

type checkpointQuery struct {
	logPath
	Cosignatures int `query:"cosignatures" minimum:"0" maximum:"100" doc:"Return the newest checkpoint with at least this many cosignatures. The default is 0, which selects the newest checkpoint."`
}

type proofQuery struct {
	checkpointQuery
	Index string `path:"index" doc:"The revision of the ladder's event. Revisions start at 0."`
}

type eventsQuery struct {
	logPath
	From  int  `query:"from" minimum:"0" doc:"The revision of the first event. The default is 0."`
	Limit *int `query:"limit" minimum:"1" maximum:"500" doc:"The number of events per page. The default is 100. A page with large events may contain fewer."`
}

func (s *Server) getLadderKey(_ *call, in *logPath) (*response, error) {
	key, err := s.LadderKey(in.Mode)
	if err != nil {
		return nil, err
	}
	return newResponse(plainText, revalidated, []byte(key+"\n")), nil
}

func (s *Server) getCheckpoint(_ *call, in *checkpointQuery) (*response, error) {
	_, signed, err := s.checkpoint(in)
	if err != nil {
		return nil, err
	}
	return newResponse(plainText, revalidated, signed), nil
}

// checkpoint returns the newest checkpoint with enough cosignatures.
func (s *Server) checkpoint(in *checkpointQuery) (size uint64, signed []byte, err error) {
	if in.Cosignatures == 0 {
		return s.Checkpoint(in.Mode)
	}
	size, signed, found := s.Cosigned(in.Mode, in.Cosignatures)
	if !found {
		return 0, nil, problem.WithDetail(problem.ErrNotFound, fmt.Sprintf("no checkpoint of the ladder tree has %d cosignatures yet; ask for fewer, or try again", in.Cosignatures))
	}
	return size, signed, nil
}

func (s *Server) getTile(c *call, in *tilePath) (*response, error) {
	data, found, err := s.SignedLog.Tile(c.ctx, in.Mode, in.tile)
	if err == nil && !found {
		err = problem.WithDetail(problem.ErrNotFound, "the ladder tree of "+in.Mode+" does not contain this complete tile yet")
	}
	if err != nil {
		return nil, err
	}
	return newResponse("application/octet-stream", immutable, data), nil
}

func (s *Server) getLadderProof(c *call, in *proofQuery) (*response, error) {
	size, signed, err := s.checkpoint(&in.checkpointQuery)
	if err != nil {
		return nil, err
	}
	index, err := strconv.ParseUint(in.Index, 10, 63)
	if err != nil || strconv.FormatUint(index, 10) != in.Index || index >= size {
		return nil, problem.WithDetail(problem.ErrNotFound, fmt.Sprintf("the index must be an integer from 0 up to, but not including, %d (the size of the checkpoint)", size))
	}
	hashes, err := s.SignedLog.LadderInclusion(c.ctx, in.Mode, index, size)
	if err != nil {
		return nil, err
	}
	proof := make(tlog.RecordProof, len(hashes))
	for i, h := range hashes {
		copy(proof[i][:], h)
	}
	return newResponse(plainText, revalidated, torchwood.FormatProof(int64(index), proof, signed)), nil
}

// listLadderEvents returns a page of the ladder's events. A page that ends before
// the end of the ladder never changes.
func (s *Server) listLadderEvents(c *call, in *eventsQuery) (out maybeEncoded[rest.LadderEvents], err error) {
	size, err := s.ladderSize(c.ctx, in.Mode)
	if err != nil {
		return out, err
	}
	if in.From > size {
		return out, problem.InvalidQuery("from", fmt.Sprintf("must be at most %d, the number of events in the ladder", size))
	}
	limit := defaultEvents
	if in.Limit != nil {
		limit = *in.Limit
	}
	if err := c.heavy(limit / eventsPerCall); err != nil {
		return out, err
	}
	page := rest.LadderEvents{Mode: in.Mode, Size: size}
	if page.Events, err = s.ladderEvents(c.ctx, in.Mode, in.From, min(limit, size-in.From)); err != nil {
		return out, err
	}
	caching := revalidated
	if next := in.From + len(page.Events); next < size {
		page.Next, caching = &next, immutable
	}
	out.encoded, err = newJSONResponse(caching, page)
	return out, err
}

// ladderSize returns the number of events of a mode's ladder.
func (s *Server) ladderSize(ctx context.Context, mode string) (int, error) {
	newest := eventstore.ReadOptions{Direction: eventstore.Backwards, Limit: 1}
	for r, err := range s.Log.Read(ctx, eventstore.StreamID(ladder.Stream(mode)), eventstore.EndRevision, newest) {
		return int(r.Revision) + 1, err
	}
	return 0, ctx.Err()
}

// ladderEvents reads events of a mode's ladder. If their data is large, it returns
// fewer events than the limit.
func (s *Server) ladderEvents(ctx context.Context, mode string, from, limit int) ([]rest.LadderEvent, error) {
	events := []rest.LadderEvent{}
	if limit == 0 {
		return events, nil
	}
	bytes := 0
	for r, err := range s.Log.Read(ctx, eventstore.StreamID(ladder.Stream(mode)), eventstore.Revision(from), eventstore.ReadOptions{Limit: limit}) {
		if err != nil {
			return nil, err
		}
		m, err := eventstore.DecodeMetadata(r)
		if err != nil {
			return nil, err
		}
		if bytes += len(r.Data); bytes > maxEventBytes && len(events) > 0 {
			break
		}
		events = append(events, rest.LadderEvent{Revision: int(r.Revision), Type: r.Type, At: rest.FormatTime(m.At), Data: string(r.Data)})
	}
	return events, ctx.Err()
}
