package persistent

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	api "github.com/EventStore/EventStore-Client-Go/v4/protos/persistent"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"

	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/wire"
)

// sourceAll takes the place of a stream's name if the source is the whole log.
const sourceAll = "$all"

// groupConfig is the stored configuration of a group.
type groupConfig struct {
	Stream string `json:"stream"` // or sourceAll
	Group  string `json:"group"`

	// StartPosition is the start as the client sent it. From is the lowest revision or
	// position that the group reads. The node computes From when the client sends the
	// start.
	StartPosition string       `json:"startPosition"`
	From          uint64       `json:"from"`
	Filter        *wire.Filter `json:"filter,omitempty"`

	// Nowhere means that the log had no event at the exact start in $all that the client
	// asked for. A scavenge may remove the event at a valid start later, so the node
	// remembers the answer.
	Nowhere bool `json:"startsNowhere,omitempty"`

	// Owner is the tag of the network from which a client created the group on a
	// read-only node. It is empty if a trusted client created the group.
	Owner string `json:"owner,omitempty"`

	groupSettings
}

// groupSettings holds the settings of a persistent subscription. Times are in
// milliseconds, and 0 means never.
type groupSettings struct {
	ResolveLinks      bool   `json:"resolveLinkTos"`
	ExtraStatistics   bool   `json:"extraStatistics"`
	MessageTimeout    int32  `json:"messageTimeout"`
	MaxRetryCount     int32  `json:"maxRetryCount"`
	LiveBufferSize    int32  `json:"liveBufferSize"`
	HistoryBufferSize int32  `json:"historyBufferSize"`
	ReadBatchSize     int32  `json:"batchSize"`
	CheckpointAfter   int32  `json:"checkPointAfter"`
	MinCheckpoint     int32  `json:"minCheckPointCount"`
	MaxCheckpoint     int32  `json:"maxCheckPointCount"`
	MaxSubscribers    int32  `json:"maxSubscriberCount"` // 0: any number
	Strategy          string `json:"namedConsumerStrategy"`
}

func (c *groupConfig) key() string { return groupKey(c.Stream, c.Group) }

func groupKey(stream, group string) string { return stream + "::" + group }

func (c *groupConfig) all() bool { return c.Stream == sourceAll }

func (c *groupConfig) checkpointStream() string {
	return "$persistentsubscription-" + c.key() + "-checkpoint"
}

func (c *groupConfig) parkedStream() string { return "$persistentsubscription-" + c.key() + "-parked" }

// newSettings reads the settings in a request. It rejects negative numbers.
func newSettings(m *api.CreateReq_Settings, strategy string) (groupSettings, error) {
	s := groupSettings{
		ResolveLinks:      m.GetResolveLinks(),
		ExtraStatistics:   m.GetExtraStatistics(),
		MessageTimeout:    milliseconds(m.GetMessageTimeoutMs(), m.GetMessageTimeoutTicks()),
		MaxRetryCount:     m.GetMaxRetryCount(),
		LiveBufferSize:    m.GetLiveBufferSize(),
		HistoryBufferSize: m.GetHistoryBufferSize(),
		ReadBatchSize:     m.GetReadBatchSize(),
		CheckpointAfter:   milliseconds(m.GetCheckpointAfterMs(), m.GetCheckpointAfterTicks()),
		MinCheckpoint:     m.GetMinCheckpointCount(),
		MaxCheckpoint:     m.GetMaxCheckpointCount(),
		MaxSubscribers:    m.GetMaxSubscriberCount(),
		Strategy:          strategy,
	}
	for _, n := range []int32{s.MessageTimeout, s.MaxRetryCount, s.LiveBufferSize, s.HistoryBufferSize, s.CheckpointAfter, s.MinCheckpoint, s.MaxCheckpoint, s.MaxSubscribers} {
		if n < 0 {
			return s, wire.Invalid("a setting of a persistent subscription must not be negative")
		}
	}
	if s.ReadBatchSize <= 0 {
		return s, wire.Invalid("the read batch size of a persistent subscription must be greater than 0")
	}
	return s, nil
}

// milliseconds returns a time in milliseconds. Older clients send the time in ticks
// instead.
func milliseconds(ms int32, ticks int64) int32 {
	if ms == 0 {
		return int32(min(ticks/(record.TicksPerSecond/1000), math.MaxInt32))
	}
	return ms
}

// check rejects settings that conflict with each other.
func (c *groupConfig) check() error {
	switch {
	case newStrategy(c.Strategy) == nil:
		return refuseSettings(c.Stream, c.Group, fmt.Sprintf("unknown consumer strategy %s", c.Strategy))
	case c.ReadBatchSize >= c.HistoryBufferSize:
		return refuseSettings(c.Stream, c.Group, fmt.Sprintf("the read batch size %d must be smaller than the history buffer size %d", c.ReadBatchSize, c.HistoryBufferSize))
	}
	return c.Filter.Compile()
}

// buffer returns how many of the group's messages may wait in memory.
func (c *groupConfig) buffer() int {
	if c.Owner != "" {
		return min(int(c.HistoryBufferSize), strangersBuffer)
	}
	return min(int(c.HistoryBufferSize), groupBuffer)
}

// groupName checks a group's name.
func groupName(stream, group string) error {
	if group == "" {
		return wire.Invalid("the group's name is empty")
	}
	c := groupConfig{Stream: stream, Group: group}
	_, err := wire.StreamName(&shared.StreamIdentifier{StreamName: []byte(c.checkpointStream())})
	return err
}

// startText formats a start for clients.
func startText(s wire.Start, all bool) string {
	switch {
	case s.Kind == wire.FromEnd && all:
		return "C:-1/P:-1"
	case s.Kind == wire.FromEnd:
		return "-1"
	}
	return atText(s.At, all)
}

// atText formats a revision or a position for clients.
func atText(at uint64, all bool) string {
	text := strconv.FormatUint(at, 10)
	if all {
		return "C:" + text + "/P:" + text
	}
	return text
}

// parseAt parses text that atText wrote.
func parseAt(text string, all bool) (uint64, error) {
	if all {
		commit, _, ok := strings.Cut(strings.TrimPrefix(text, "C:"), "/P:")
		if !ok {
			return 0, fmt.Errorf("not a position: %q", text)
		}
		text = commit
	}
	return strconv.ParseUint(text, 10, 63)
}

// groupsConfig is the data of the event that stores the configuration of all groups.
type groupsConfig struct {
	Version string        `json:"version"`
	Entries []groupConfig `json:"entries"`
}

const groupsVersion = "2"

func parseGroups(data string) (groupsConfig, error) {
	var c groupsConfig
	err := json.Unmarshal([]byte(data), &c)
	if err == nil && c.Version != groupsVersion {
		err = fmt.Errorf("its version is %q", c.Version)
	}
	return c, err
}
