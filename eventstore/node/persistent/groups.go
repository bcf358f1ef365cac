package persistent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/streams"
	"hexarena/eventstore/node/wire"
	"hexarena/eventstore/node/writer"
)

// The last event of configStream contains the configuration of all groups.
const (
	configStream = "$persistentSubscriptionConfig"
	typeConfig   = "$PersistentConfig"
	configMeta   = `{"$maxCount":2}`
)

// The type groups holds all persistent subscriptions. It loads them when it is first
// used. The type is safe for concurrent use.
type groups struct {
	*Log
	mu     sync.Mutex // held during changes
	loaded map[string]*group

	count     atomic.Int64 // number of loaded groups
	consumers atomic.Int64 // number of consumers of all groups
	strangers *strangers
}

func newGroups(log *Log, q Quotas) *groups {
	return &groups{Log: log, strangers: newStrangers(q)}
}

// load reads the configuration unless it is already loaded. The caller holds the
// lock.
func (s *groups) load() error {
	if s.loaded != nil {
		return nil
	}
	r, ok, err := s.lastOf(configStream)
	if err != nil {
		return err
	}
	loaded := map[string]*group{}
	if ok {
		config, err := parseGroups(r.Data)
		if err != nil {
			return fmt.Errorf("%s@%d: %w", configStream, r.Revision, err)
		}
		for _, c := range config.Entries {
			if loaded[c.key()], err = s.group(c); err != nil {
				return fmt.Errorf("%s@%d: %s: %w", configStream, r.Revision, c.key(), err)
			}
		}
	}
	s.loaded = loaded
	s.count.Store(int64(len(s.loaded)))
	return nil
}

func (s *groups) group(c groupConfig) (*group, error) {
	return newGroup(s.Log, &s.consumers, s.strangers.writes, c)
}

// save replaces or removes one group in the configuration and stores the result.
func (s *groups) save(changed groupConfig, keep bool) error {
	config := groupsConfig{Version: groupsVersion, Entries: []groupConfig{}}
	for _, g := range s.loaded {
		if g.config.key() != changed.key() {
			config.Entries = append(config.Entries, g.config)
		}
	}
	if keep {
		config.Entries = append(config.Entries, changed)
	}
	slices.SortFunc(config.Entries, func(a, b groupConfig) int { return cmp.Compare(a.key(), b.key()) })
	data, err := json.Marshal(config)
	if err != nil {
		return err
	}
	if keep && len(data) > wire.MaxAppend {
		return refuseSettings(changed.Stream, changed.Group, "there are too many persistent subscriptions")
	}
	if _, ok, err := s.lastOf(configStream); err != nil {
		return err
	} else if !ok {
		if err := s.writeMetaOf(configStream, configMeta); err != nil {
			return err
		}
	}
	ok, err := s.write(configStream, writer.Proposed{ID: uuid.New(), JSON: true, Type: typeConfig, Data: string(data)})
	if err == nil && !ok {
		err = wire.RefuseDeleted(configStream)
	}
	return err
}

// find returns an existing group.
func (s *groups) find(stream, name string) (*group, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.get(stream, name)
}

func (s *groups) get(stream, name string) (*group, error) {
	if err := s.load(); err != nil {
		return nil, err
	}
	g := s.loaded[groupKey(stream, name)]
	if g == nil {
		return nil, refuseMissing(stream, name)
	}
	return g, nil
}

func (s *groups) create(by caller, c groupConfig) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.load(); err != nil {
		return err
	}
	if s.loaded[c.key()] != nil {
		return refuseExisting(c.Stream, c.Group)
	}
	c.Owner = by.owner
	if err := s.mayCreate(by, &c); err != nil {
		return err
	}
	return s.put(c)
}

// put stores a group's configuration and loads the group.
func (s *groups) put(c groupConfig) error {
	g, err := s.group(c)
	if err == nil {
		err = s.save(c, true)
	}
	if err != nil {
		return err
	}
	if before := s.loaded[c.key()]; before != nil {
		before.drop(false)
		if g, err = s.group(c); err != nil { // the new group continues at the checkpoint that the previous one saved
			s.loaded = nil
			return err
		}
	}
	s.loaded[c.key()] = g
	s.count.Store(int64(len(s.loaded)))
	return nil
}

// update changes a group's settings. The group keeps its filter and progress.
func (s *groups) update(by caller, c groupConfig) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, err := s.get(c.Stream, c.Group)
	if err == nil {
		err = s.mayChange(by, g)
	}
	if err != nil {
		return err
	}
	c.Filter, c.Owner = g.config.Filter, g.config.Owner
	return s.put(c)
}

func (s *groups) remove(ctx context.Context, by caller, stream, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, err := s.get(stream, name)
	if err == nil {
		err = s.mayChange(by, g)
	}
	if err != nil {
		return err
	}
	return s.delete(ctx, g)
}

// delete deletes a group and its streams. The caller holds the lock.
func (s *groups) delete(ctx context.Context, g *group) error {
	if err := s.save(g.config, false); err != nil {
		return err
	}
	delete(s.loaded, g.config.key())
	s.count.Store(int64(len(s.loaded)))
	g.drop(true)
	for _, left := range []string{g.config.checkpointStream(), g.config.parkedStream()} {
		if _, err := s.writer.Submit(ctx, &writer.Request{Act: writer.Delete, Stream: left, Expected: writer.Any}); err != nil {
			return err
		}
	}
	return nil
}

// restart disconnects every group's subscribers and loads all groups again.
func (s *groups) restart() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.loaded {
		g.drop(false)
	}
	s.loaded = nil
	return s.load()
}

// list returns all groups, or only those of a stream, sorted by name.
func (s *groups) list(stream string) ([]*group, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.load(); err != nil {
		return nil, err
	}
	var found []*group
	for _, g := range s.loaded {
		if stream == "" || g.config.Stream == stream {
			found = append(found, g)
		}
	}
	slices.SortFunc(found, func(a, b *group) int { return cmp.Compare(a.config.key(), b.config.key()) })
	if stream != "" && len(found) == 0 {
		return nil, refuseMissing(stream, "")
	}
	return found, nil
}

// Log is the part of the node that persistent subscriptions use. They read their
// sources from the log and store their own state in it.
type Log struct {
	*streams.Reader
	writer *writer.Writer
}

// write appends events that belong to a group. It returns false if the stream is
// tombstoned.
func (l *Log) write(stream string, events ...writer.Proposed) (bool, error) {
	out, err := l.writer.Submit(context.Background(), &writer.Request{Act: writer.Append, Stream: stream, Expected: writer.Any, Events: events})
	if err == nil && out.Verdict != writer.Stored {
		l.Logger.Warn("cannot write the state of a persistent subscription: its stream is deleted", "stream", stream)
	}
	return out.Verdict == writer.Stored, err
}

// writeMetaOf replaces a stream's metadata.
func (l *Log) writeMetaOf(stream, data string) error {
	_, err := l.write(record.MetadataPrefix+stream, writer.Proposed{ID: uuid.New(), JSON: true, Type: record.TypeMetadata, Data: data})
	return err
}

// lastOf returns a stream's last visible event. ok is false if the stream has
// no visible event.
func (l *Log) lastOf(stream string) (r record.Record, ok bool, err error) {
	within := l.Tail.End()
	v, err := l.Store.View(stream, within, record.Ticks(l.Now()))
	if err != nil || v.Tombstoned() || v.Last < v.First || v.Last < 0 {
		return record.Record{}, false, err
	}
	return l.Store.Find(stream, uint64(v.Last), within)
}
