package outage

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/gossip"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/serverfeatures"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// member is one node of a cluster.
type member struct {
	cluster *Cluster
	id      uuid.UUID
	proxy   *Proxy // in front of the node's server

	// Cluster.mu guards the following fields.
	state   State
	own     *store // the log of a node that does not agree with the majority; else nil
	lag     time.Duration
	changed chan struct{} // closed and replaced when state changes
	calls   [Doubtful + 1]int
}

func (c *Cluster) newMember() *member {
	m := &member{cluster: c, id: uuid.New(), changed: make(chan struct{})}
	server := grpc.NewServer(grpc.ForceServerCodecV2(raw{}), grpc.UnknownServiceHandler(m.handle), grpc.WaitForHandlers(true),
		grpc.MaxRecvMsgSize(32<<20), grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 1, PermitWithoutStream: true}))
	listener, err := new(net.ListenConfig).Listen(c.t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(c.t, err)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	c.t.Cleanup(func() {
		server.Stop()
		require.NoError(c.t, <-served)
	})
	m.proxy = New(c.t, listener.Addr().String())
	return m
}

// now returns the state of the node, its log, and a channel that closes when the state
// changes.
func (m *member) now() (State, *store, <-chan struct{}) {
	m.cluster.mu.Lock()
	defer m.cluster.mu.Unlock()
	log := m.own
	if log == nil {
		log = m.cluster.shared
	}
	return m.state, log, m.changed
}

// errNotReady is what a node without a leader answers.
var errNotReady = status.Error(codes.Unavailable, "Server Is Not Ready")

// handle answers a call according to the state of the node.
func (m *member) handle(_ any, call grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(call)
	if method == gossip.Gossip_Read_FullMethodName {
		return m.gossip(call)
	}
	request, err := received(call, method)
	if err != nil {
		return err
	}
	if err := m.hold(call.Context(), request); err != nil {
		return err
	}
	release := m.cluster.keepLog(method)
	defer release()
	state, log, _ := m.now()
	m.cluster.mu.Lock()
	m.calls[state]++
	m.cluster.mu.Unlock()
	if method == serverfeatures.ServerFeatures_GetSupportedMethods_FullMethodName {
		return m.pass(call, log, method, request, false)
	}
	reads := method == streams.Streams_Read_FullMethodName
	subscribes := reads && isSubscription(request[0])
	switch state {
	case Leader:
		return m.pass(call, log, method, request, subscribes)
	case Alone, Doubtful:
		if !reads {
			release()
			return m.abandon(call, log, method, request, state == Doubtful)
		}
		return m.pass(call, log, method, request, subscribes)
	case Follower, CatchingUp:
		switch {
		case subscribes:
			return m.pass(call, log, method, request, true)
		case requiresLeader(call.Context()):
			return m.redirect(call)
		case reads || state == Follower:
			return m.pass(call, log, method, request, false)
		}
		release()
		return m.timeOut(call, m.cluster.timing.Forwarding, "Operation timed out: Forwarding timeout")
	}
	return errNotReady
}

// received returns the first message of a call, or all messages of an append.
func received(call grpc.ServerStream, method string) (request []frame, err error) {
	for {
		var f frame
		err := call.RecvMsg(&f)
		if errors.Is(err, io.EOF) && len(request) > 0 {
			return request, nil
		}
		if err != nil {
			return nil, err
		}
		request = append(request, f)
		if method != streams.Streams_Append_FullMethodName {
			return request, nil
		}
	}
}

func requiresLeader(ctx context.Context) bool {
	md, _ := metadata.FromIncomingContext(ctx)
	return slices.Contains(md.Get("requires-leader"), "true")
}

func isSubscription(first frame) bool {
	var request streams.ReadReq
	return proto.Unmarshal(first.data, &request) == nil && request.GetOptions().GetSubscription() != nil
}

// redirect names the leader, as a follower does. While there is no leader, the node is
// not ready.
func (m *member) redirect(call grpc.ServerStream) error {
	leader := m.cluster.Leader()
	if leader < 0 {
		return errNotReady
	}
	host, port, _ := net.SplitHostPort(m.cluster.members[leader].proxy.Address())
	call.SetTrailer(metadata.Pairs("exception", "not-leader", "leader-endpoint-host", host, "leader-endpoint-port", port))
	return status.Error(codes.NotFound, "Leader info available")
}

// abandon ends an append without an acknowledgement. The log may store it.
func (m *member) abandon(call grpc.ServerStream, log *store, method string, request []frame, stored bool) error {
	if stored {
		if err := m.pass(silent{call}, log, method, request, false); err != nil {
			return err
		}
	}
	return m.timeOut(call, m.cluster.timing.Commit, "Operation timed out: Commit phase timeout.")
}

// silent is a call whose response is lost.
type silent struct{ grpc.ServerStream }

func (silent) SendMsg(any) error { return nil }

func (m *member) timeOut(call grpc.ServerStream, after time.Duration, why string) error {
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case <-timer.C:
		return status.Error(codes.Aborted, why)
	case <-call.Context().Done():
		return call.Context().Err()
	}
}

// pass passes a call to the log. A subscription passes only while the node follows the
// log, and ends if the node leaves the cluster.
func (m *member) pass(call grpc.ServerStream, log *store, method string, request []frame, subscription bool) error {
	ctx, cancel := context.WithCancel(call.Context())
	defer cancel()
	down, err := log.client.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return err
	}
	for _, f := range request {
		if err := down.SendMsg(&f); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	go func() {
		for {
			var f frame
			if err := call.RecvMsg(&f); err != nil {
				if errors.Is(err, io.EOF) {
					_ = down.CloseSend()
				}
				return
			}
			if down.SendMsg(&f) != nil {
				return
			}
		}
	}()
	ended := make(chan error, 1)
	go func() { ended <- m.answer(call, down, ctx, subscription) }()
	for {
		_, _, changed := m.now()
		if state, _, _ := m.now(); subscription && (state == Discovering || state == Down) {
			cancel()
			if err := <-ended; err == nil {
				return nil // it ended before the state changed
			}
			return errNotReady
		}
		select {
		case err := <-ended:
			return err
		case <-changed:
		}
	}
}

// answer passes the responses of the log.
func (m *member) answer(call grpc.ServerStream, down grpc.ClientStream, ctx context.Context, subscription bool) error { //nolint:revive // ctx belongs to down
	for {
		var f frame
		err := down.RecvMsg(&f)
		if errors.Is(err, io.EOF) {
			call.SetTrailer(down.Trailer())
			return nil
		}
		if err != nil {
			call.SetTrailer(down.Trailer())
			return err
		}
		if subscription && !m.awaitFlow(ctx) {
			return ctx.Err()
		}
		if err := call.SendMsg(&f); err != nil {
			return err
		}
	}
}

// awaitFlow waits until the node's subscriptions flow. It returns false if the call
// ends first.
func (m *member) awaitFlow(ctx context.Context) bool {
	m.cluster.mu.Lock()
	lag := m.lag
	m.cluster.mu.Unlock()
	if lag > 0 {
		timer := time.NewTimer(lag)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return false
		}
	}
	for {
		state, _, changed := m.now()
		if state == Leader || state == Follower || state == Doubtful {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// gossip lists the nodes, as this node sees them.
func (m *member) gossip(call grpc.ServerStream) error {
	var first frame
	if err := call.RecvMsg(&first); err != nil {
		return err
	}
	m.cluster.mu.Lock()
	info := &gossip.ClusterInfo{}
	for _, other := range m.cluster.members {
		host, port, _ := net.SplitHostPort(other.proxy.Address())
		number, _ := strconv.Atoi(port)
		info.Members = append(info.Members, &gossip.MemberInfo{
			InstanceId:   &shared.UUID{Value: &shared.UUID_String_{String_: other.id.String()}},
			State:        m.sees(other),
			IsAlive:      other.state != Down && m.own == other.own,
			HttpEndPoint: &gossip.EndPoint{Address: host, Port: uint32(number)},
		})
	}
	m.cluster.mu.Unlock()
	data, err := proto.Marshal(info)
	if err != nil {
		return err
	}
	return call.SendMsg(&frame{data})
}

// sees returns the state of another node in this node's gossip. The caller holds
// Cluster.mu.
func (m *member) sees(other *member) gossip.MemberInfo_VNodeState {
	switch other.state {
	case Down, Discovering:
		return gossip.MemberInfo_DiscoverLeader
	case PreLeader:
		return gossip.MemberInfo_PreLeader
	case Leader, Doubtful, Alone:
		return gossip.MemberInfo_Leader
	case Follower:
		return gossip.MemberInfo_Follower
	case CatchingUp:
		return gossip.MemberInfo_CatchingUp
	case Unknown:
	}
	return gossip.MemberInfo_Unknown
}

// frame is the undecoded data of one message.
type frame struct{ data []byte }

// The type raw is a codec that passes messages without decoding them.
type raw struct{}

// Name implements encoding.CodecV2. The nodes accept only this name.
func (raw) Name() string { return "proto" }

// Marshal implements encoding.CodecV2.
func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.(*frame).data)}, nil
}

// Unmarshal implements encoding.CodecV2.
func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	v.(*frame).data = data.Materialize()
	return nil
}
