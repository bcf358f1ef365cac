package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/persistent"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// publicNode is a read-only node that strangers can reach.
type publicNode struct {
	*process
	t                    *testing.T
	data                 string
	address, feed, admin string
}

func newPublicNode(t *testing.T, flags ...string) *publicNode {
	t.Helper()
	n := &publicNode{t: t, data: filepath.Join(t.TempDir(), "node")}
	n.start(flags...)
	return n
}

func (n *publicNode) start(flags ...string) {
	n.t.Helper()
	args := []string{"node", "--data", n.data, "--read-only", "--listen", "127.0.0.1:0", "--feed-listen", "127.0.0.1:0"}
	n.process = launch(n.t, append(args, flags...)...)
	n.address = n.await(`event store on esdb://(\S+)\?`)[1]
	n.feed = n.await(`feed endpoint on (esdb://\S+)`)[1]
	n.admin = n.process.admin()
}

// metric returns the sum of a metric's values.
func (n *publicNode) metric(name string) (sum float64) {
	n.t.Helper()
	resp, err := http.Get("http://" + n.admin + "/metrics")
	require.NoError(n.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(n.t, err)
	values := regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(name)+` (\S+)$`).FindAllSubmatch(text, -1)
	require.NotEmpty(n.t, values, name)
	for _, v := range values {
		f, err := strconv.ParseFloat(string(v[1]), 64)
		require.NoError(n.t, err)
		sum += f
	}
	return sum
}

// peak returns the largest amount of memory that the process has used, in MB.
func (n *publicNode) peak() int {
	n.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.cmd.Process.Pid))
	if errors.Is(err, os.ErrNotExist) {
		n.t.Skip("needs /proc")
	}
	require.NoError(n.t, err)
	kilobytes, err := strconv.Atoi(regexp.MustCompile(`VmHWM:\s+(\d+)`).FindStringSubmatch(string(text))[1])
	require.NoError(n.t, err)
	return kilobytes >> 10
}

// fill appends events to a stream through the feed.
func (n *publicNode) fill(stream string, events int) {
	n.t.Helper()
	config, err := esdb.ParseConnectionString(n.feed)
	require.NoError(n.t, err)
	config.Logger = esdb.NoopLogging()
	client, err := esdb.NewClient(config)
	require.NoError(n.t, err)
	defer client.Close()
	for range events / 500 {
		_, err := client.AppendToStream(n.t.Context(), stream, esdb.AppendToStreamOptions{ExpectedRevision: esdb.Any{}}, make500()...)
		require.NoError(n.t, err)
	}
}

func make500() []esdb.EventData {
	events := make([]esdb.EventData, 500)
	for i := range events {
		events[i] = esdb.EventData{EventType: "T"}
	}
	return events
}

// stranger is a client of a read-only node. Its connections come from its own
// address.
type stranger struct {
	t       *testing.T
	ctx     context.Context
	conn    *grpc.ClientConn
	groups  persistent.PersistentSubscriptionsClient
	streams streams.StreamsClient
}

func (n *publicNode) stranger(t *testing.T, from string) *stranger {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := grpc.NewClient("passthrough:///"+n.address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", address)
		}))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(func() {
		cancel()
		_ = conn.Close()
	})
	return &stranger{t: t, ctx: ctx, conn: conn, groups: persistent.NewPersistentSubscriptionsClient(conn), streams: streams.NewStreamsClient(conn)}
}

// create creates a group that reads $all with a filter.
func (s *stranger) create(group, regex string) codes.Code {
	settings := &persistent.CreateReq_Settings{
		MaxRetryCount: 10, HistoryBufferSize: 1 << 20, LiveBufferSize: 1 << 20, ReadBatchSize: 500, MinCheckpointCount: 1, MaxCheckpointCount: 1,
	}
	settings.ConsumerStrategy = "RoundRobin"
	all := &persistent.CreateReq_AllOptions{AllOption: &persistent.CreateReq_AllOptions_Start{Start: &shared.Empty{}}}
	all.FilterOption = &persistent.CreateReq_AllOptions_Filter{Filter: &persistent.CreateReq_AllOptions_FilterOptions{
		Filter: &persistent.CreateReq_AllOptions_FilterOptions_StreamIdentifier{
			StreamIdentifier: &persistent.CreateReq_AllOptions_FilterOptions_Expression{Regex: regex},
		},
		Window:                       &persistent.CreateReq_AllOptions_FilterOptions_Max{Max: 32},
		CheckpointIntervalMultiplier: 1,
	}}
	_, err := s.groups.Create(s.ctx, &persistent.CreateReq{Options: &persistent.CreateReq_Options{
		GroupName: group, Settings: settings, StreamOption: &persistent.CreateReq_Options_All{All: all},
	}})
	return status.Code(err)
}

func (s *stranger) delete(group string) codes.Code {
	_, err := s.groups.Delete(s.ctx, &persistent.DeleteReq{Options: &persistent.DeleteReq_Options{
		GroupName: group, StreamOption: &persistent.DeleteReq_Options_All{All: &shared.Empty{}},
	}})
	return status.Code(err)
}

func (s *stranger) update(group string) codes.Code {
	_, err := s.groups.Update(s.ctx, &persistent.UpdateReq{Options: &persistent.UpdateReq_Options{
		GroupName:    group,
		Settings:     &persistent.UpdateReq_Settings{HistoryBufferSize: 500, ReadBatchSize: 20},
		StreamOption: &persistent.UpdateReq_Options_All{All: &persistent.UpdateReq_AllOptions{AllOption: &persistent.UpdateReq_AllOptions_Start{Start: &shared.Empty{}}}},
	}})
	return status.Code(err)
}

func (s *stranger) replay(group string) codes.Code {
	_, err := s.groups.ReplayParked(s.ctx, &persistent.ReplayParkedReq{Options: &persistent.ReplayParkedReq_Options{
		GroupName: group, StreamOption: &persistent.ReplayParkedReq_Options_All{All: &shared.Empty{}},
	}})
	return status.Code(err)
}

func (s *stranger) info(group string) (*persistent.SubscriptionInfo, codes.Code) {
	resp, err := s.groups.GetInfo(s.ctx, &persistent.GetInfoReq{Options: &persistent.GetInfoReq_Options{
		GroupName: group, StreamOption: &persistent.GetInfoReq_Options_All{All: &shared.Empty{}},
	}})
	return resp.GetSubscriptionInfo(), status.Code(err)
}

// join becomes a consumer of a group. It returns OK, or the code of the node's error.
func (s *stranger) join(group string) (persistent.PersistentSubscriptions_ReadClient, codes.Code) {
	s.t.Helper()
	call, err := s.groups.Read(s.ctx)
	require.NoError(s.t, err)
	require.NoError(s.t, call.Send(&persistent.ReadReq{Content: &persistent.ReadReq_Options_{Options: &persistent.ReadReq_Options{
		GroupName: group, BufferSize: 1 << 30, StreamOption: &persistent.ReadReq_Options_All{All: &shared.Empty{}},
		UuidOption: &persistent.ReadReq_Options_UUIDOption{Content: &persistent.ReadReq_Options_UUIDOption_String_{String_: &shared.Empty{}}},
	}}}))
	_, err = call.Recv() // the confirmation
	return call, status.Code(err)
}

// subscribe opens a subscription to $all. It returns OK once the node has confirmed
// the subscription.
func (s *stranger) subscribe() codes.Code {
	call, err := s.streams.Read(s.ctx, &streams.ReadReq{Options: &streams.ReadReq_Options{
		StreamOption:  &streams.ReadReq_Options_All{All: &streams.ReadReq_Options_AllOptions{AllOption: &streams.ReadReq_Options_AllOptions_Start{Start: &shared.Empty{}}}},
		CountOption:   &streams.ReadReq_Options_Subscription{Subscription: &streams.ReadReq_Options_SubscriptionOptions{}},
		FilterOption:  &streams.ReadReq_Options_NoFilter{NoFilter: &shared.Empty{}},
		UuidOption:    &streams.ReadReq_Options_UUIDOption{Content: &streams.ReadReq_Options_UUIDOption_String_{String_: &shared.Empty{}}},
		ControlOption: &streams.ReadReq_Options_ControlOption{Compatibility: 1},
	}})
	if err == nil {
		_, err = call.Recv()
	}
	return status.Code(err)
}

func TestSecurityReadOnlyNode(t *testing.T) {
	t.Parallel()
	for name, attack := range map[string]func(*testing.T){
		"groups without end":              groupsWithoutEnd,
		"groups of others":                groupsOfOthers,
		"groups that nobody uses":         unusedGroups,
		"filters that need much memory":   largeFilters,
		"calls and connections":           callsAndConnections,
		"parked messages without end":     parkedWithoutEnd,
		"changes of a group, without end": changesWithoutEnd,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			attack(t)
		})
	}
}

// A stranger tries to create 774 groups with long names and filters. Without quotas,
// such an attack increased a node's memory from 263 to 1,893 MB, and nobody could
// create a group afterward.
func groupsWithoutEnd(t *testing.T) {
	n := newPublicNode(t)
	before := n.peak()
	s := n.stranger(t, "127.0.0.2")
	answers := map[codes.Code]int{}
	for i := range 774 {
		answers[s.create(fmt.Sprintf("%d-%s", i, strings.Repeat("g", 500)), `^(\pL{9}|\d+)`+strings.Repeat("x", 400))]++
	}
	after := n.peak()
	t.Logf("%v; memory: %d MB before, at most %d MB during the attack", answers, before, after)
	require.Equal(t, map[codes.Code]int{codes.OK: 8, codes.ResourceExhausted: 766}, answers)
	require.Less(t, after-before, 100)
	require.EqualValues(t, 8, n.metric("arena_node_groups"))
	require.EqualValues(t, 766, n.metric(`arena_node_refused_total{quota="groups"}`))
	require.Equal(t, codes.OK, n.stranger(t, "127.0.0.3").create("g", "."), "others still can")
	require.Equal(t, codes.InvalidArgument, n.stranger(t, "127.0.0.4").create(strings.Repeat("g", 4000), "."))
}

// Nobody can join, change or delete a group of another address, or see the addresses
// of its consumers. That is still true after a restart. With --shared-groups,
// everyone can.
func groupsOfOthers(t *testing.T) {
	n := newPublicNode(t)
	n.fill("s", 500)
	owner := n.stranger(t, "127.0.0.2")
	require.Equal(t, codes.OK, owner.create("mine", "."))
	_, code := owner.join("mine")
	require.Equal(t, codes.OK, code)
	for round := range 2 {
		thief := n.stranger(t, "127.0.0.3")
		require.Equal(t, codes.PermissionDenied, thief.delete("mine"), "round %d", round)
		require.Equal(t, codes.PermissionDenied, thief.update("mine"))
		require.Equal(t, codes.PermissionDenied, thief.replay("mine"))
		_, code = thief.join("mine")
		require.Equal(t, codes.PermissionDenied, code)
		_, err := thief.groups.RestartSubsystem(thief.ctx, &shared.Empty{})
		require.Equal(t, codes.PermissionDenied, status.Code(err))
		info, code := thief.info("mine")
		require.Equal(t, codes.OK, code)
		require.Empty(t, info.GetConnections())
		n.end(syscall.SIGTERM)
		n.start()
	}
	again := n.stranger(t, "127.0.0.2")
	_, code = again.join("mine")
	require.Equal(t, codes.OK, code)
	info, _ := again.info("mine")
	require.Len(t, info.GetConnections(), 1)
	require.Equal(t, codes.OK, again.update("mine"))
	require.Equal(t, codes.OK, again.delete("mine"))

	n.end(syscall.SIGTERM)
	n.start("--shared-groups")
	require.Equal(t, codes.OK, n.stranger(t, "127.0.0.2").create("ours", "."))
	other := n.stranger(t, "127.0.0.3")
	_, code = other.join("ours")
	require.Equal(t, codes.OK, code)
	require.Equal(t, codes.OK, other.delete("ours"))
}

// A group without consumers expires. Its owner can then create it again.
func unusedGroups(t *testing.T) {
	n := newPublicNode(t, "--group-expiry", "50ms")
	s := n.stranger(t, "127.0.0.2")
	require.Equal(t, codes.OK, s.create("unused", "."))
	for code := codes.OK; code != codes.NotFound; _, code = s.info("unused") {
		require.NoError(t, s.ctx.Err())
	}
	require.EqualValues(t, 1, n.metric("arena_node_groups_expired_total"))
	require.Equal(t, codes.OK, s.create("unused", "."))
}

// Even a short expression may need a lot of memory once it is compiled.
func largeFilters(t *testing.T) {
	n := newPublicNode(t)
	before := n.peak()
	s := n.stranger(t, "127.0.0.2")
	repeated := "(?i)(" + strings.Repeat("k", 3000) + "){900}" // 129 MB once compiled
	for _, regex := range []string{repeated, "^(?!" + repeated + ")", strings.Repeat("x", 20_000), "^(?!" + strings.Repeat("(", 10_000)} {
		require.Equal(t, codes.InvalidArgument, s.create("g", regex))
	}
	require.Less(t, n.peak()-before, 100)
}

// One address can open only a limited number of calls and connections, however it
// distributes the calls over the connections. Other addresses can still connect.
func callsAndConnections(t *testing.T) {
	n := newPublicNode(t)
	var mine []*stranger
	for range 4 {
		mine = append(mine, n.stranger(t, "127.0.0.2"))
	}
	answers := map[codes.Code]int{}
	for i := range 60 {
		answers[mine[i%len(mine)].subscribe()]++
	}
	require.Equal(t, map[codes.Code]int{codes.OK: 32, codes.ResourceExhausted: 28}, answers)
	require.EqualValues(t, 32, n.metric("arena_node_public_calls"))
	require.Equal(t, codes.OK, n.stranger(t, "127.0.0.3").subscribe())

	require.NoError(t, mine[0].conn.Close()) // its eight calls end
	for n.metric("arena_node_public_calls") > 25 {
		require.NoError(t, mine[1].ctx.Err())
	}
	require.Equal(t, codes.OK, mine[1].subscribe())

	open := 0
	for range 40 {
		conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.0.4")}}).DialContext(t.Context(), "tcp", n.address)
		require.NoError(t, err)
		defer conn.Close()
		fmt.Fprintf(conn, "GET /info HTTP/1.1\r\nHost: x\r\n\r\n")
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			open++
		}
	}
	require.Equal(t, 16, open)
	require.Equal(t, codes.OK, n.stranger(t, "127.0.0.5").subscribe())
}

// A stranger parks every message that it receives. Each parked message is an event in
// the log, so the node parks a few of them immediately, and then only one a second.
// The others wait: the stranger gets no more messages, and nothing is lost.
func parkedWithoutEnd(t *testing.T) {
	n := newPublicNode(t)
	n.fill("s", 5000)
	s := n.stranger(t, "127.0.0.2")
	require.Equal(t, codes.OK, s.create("g", "^s$"))
	call, code := s.join("g")
	require.Equal(t, codes.OK, code)
	go func() {
		for m, err := call.Recv(); err == nil; m, err = call.Recv() {
			_ = call.Send(&persistent.ReadReq{Content: &persistent.ReadReq_Nack_{Nack: &persistent.ReadReq_Nack{
				Action: persistent.ReadReq_Nack_Park, Reason: strings.Repeat("r", 4000), Ids: []*shared.UUID{m.GetEvent().GetEvent().GetId()},
			}}})
		}
	}()
	began := time.Now()
	for n.metric("arena_node_group_writes_delayed_total") == 0 {
		require.NoError(t, s.ctx.Err())
	}
	info, _ := s.info("g")
	require.NotZero(t, info.GetParkedMessageCount())
	require.LessOrEqual(t, info.GetParkedMessageCount(), 1000+int64(time.Since(began)/time.Second))
}

// Each change to a group writes an event that contains all groups.
func changesWithoutEnd(t *testing.T) {
	n := newPublicNode(t)
	s := n.stranger(t, "127.0.0.2")
	began, changes := time.Now(), 0
	for range 200 {
		if s.create("g", ".") == codes.OK {
			changes++
		}
		if s.delete("g") == codes.OK {
			changes++
		}
	}
	require.GreaterOrEqual(t, changes, 60)
	require.LessOrEqual(t, changes, 60+int(time.Since(began)/time.Minute)+1)
	require.NotZero(t, n.metric(`arena_node_refused_total{quota="group_changes"}`))
	require.Equal(t, codes.OK, n.stranger(t, "127.0.0.3").create("h", "."))
}
