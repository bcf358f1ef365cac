package node

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/gossip"
	persistentapi "github.com/EventStore/EventStore-Client-Go/v4/protos/persistent"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/serverfeatures"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/proto"

	"hexarena/eventstore/node/connmux"
	"hexarena/eventstore/node/openlog"
	"hexarena/eventstore/node/quota"
	"hexarena/eventstore/node/reads"
	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/wire"
	"hexarena/eventstore/node/writes"
)

// Version is the EventStoreDB version whose protocol the node speaks.
const Version = "24.10.4"

// LargestAppendSize is the largest possible Options.MaxAppendSize. It is the maximum size
// of a message, in which a client sends at least one event.
const LargestAppendSize = 16<<20 - 10_000

// These are the limits on messages and connections.
const (
	receiveStreams = LargestAppendSize
	pingAfter      = 10 * time.Second
	pingTimeout    = 10 * time.Second
	maxStreams     = 4096 // concurrent calls on one connection

	// With fixed windows, gRPC does not send pings to measure the bandwidth. With
	// workers, gRPC reuses the workers' stacks instead of growing a new stack for
	// each call.
	streamWindow = 1 << 20
	connWindow   = 4 << 20
	workers      = 64
)

// These are the limits on messages and connections of a read-only node. Each message uses
// memory while the node receives it, so the limit is low. An append of the
// default maximum size still fits, so that its client gets the expected error.
const (
	receivePublic    = wire.MaxAppend + 64<<10
	maxPublicStreams = 100
)

// serverPair holds the gRPC and HTTP servers for clients with the same rights.
type serverPair struct {
	mux   connmux.Mux
	mixed *grpc.Server // serves gRPC calls on connections that began with another kind of request
}

func (n *Node) newServerPair(readOnly bool, connections quota.Limit) *serverPair {
	mixed := n.newServer(readOnly)
	var calls http.Handler = mixed
	if readOnly {
		calls = n.countHTTP(mixed)
	}
	return &serverPair{
		mux: connmux.Mux{
			Logger: n.log.Logger, Life: n.log.Life, GRPC: n.newServer(readOnly), HTTP: n.newHTTP(calls),
			Connections: quota.NewCounter(connections),
		},
		mixed: mixed,
	}
}

// close waits for calls in progress to finish, but only until ctx ends.
func (p *serverPair) close(ctx context.Context) error {
	stop := context.AfterFunc(ctx, p.mux.GRPC.Stop)
	p.mux.GRPC.GracefulStop()
	stop()
	err := p.mux.HTTP.Shutdown(ctx)
	if err != nil {
		err = p.mux.HTTP.Close()
	}
	p.mixed.Stop()
	return err
}

func (n *Node) newServer(readOnly bool) *grpc.Server {
	calls, subscriptions, receive, concurrent := n.calls, n.subscriptions, receiveStreams, uint32(maxStreams)
	var more []grpc.ServerOption
	if readOnly {
		calls.ReadOnly, subscriptions = true, subscriptions.Public()
		receive, concurrent = receivePublic, maxPublicStreams
		more = append(more, grpc.InTapHandle(n.countCall))
	}
	s := grpc.NewServer(append(more,
		grpc.ForceServerCodecV2(wire.NewCodec()),
		grpc.MaxRecvMsgSize(receive),
		grpc.MaxConcurrentStreams(concurrent),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: pingAfter, Timeout: pingTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 1, PermitWithoutStream: true}),
		grpc.UnaryInterceptor(n.answer),
		grpc.StreamInterceptor(n.answerStream),
		grpc.StaticStreamWindowSize(streamWindow),
		grpc.StaticConnWindowSize(connWindow),
		grpc.NumStreamWorkers(workers),
		grpc.WaitForHandlers(true),
	)...)
	api.RegisterStreamsServer(s, calls)
	serverfeatures.RegisterServerFeaturesServer(s, features{})
	gossip.RegisterGossipServer(s, members{log: n.log, instance: n.instance})
	persistentapi.RegisterPersistentSubscriptionsServer(s, subscriptions)
	return s
}

// countCall counts the open calls of the clients of ServeReadOnly. A call is counted
// until it ends. gRPC runs countCall before it reads the call's first message.
func (n *Node) countCall(ctx context.Context, _ *tap.Info) (context.Context, error) {
	network := ""
	if caller, ok := peer.FromContext(ctx); ok {
		network = quota.Network(caller.Addr)
	}
	if !n.publicCalls.Take(network) {
		return ctx, status.Error(codes.ResourceExhausted, tooManyCalls)
	}
	context.AfterFunc(ctx, func() { n.publicCalls.Give(network) })
	return ctx, nil
}

const tooManyCalls = "too many open calls, from your network or in total; end a read or a subscription, or try again later"

// countHTTP is like countCall, but for gRPC calls on connections that began with a plain
// request.
func (n *Node) countHTTP(calls http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		network := quota.NetworkOf(r.RemoteAddr)
		if !n.publicCalls.Take(network) {
			w.Header().Set("Content-Type", connmux.GRPCContent)
			w.Header().Set("Grpc-Status", strconv.Itoa(int(codes.ResourceExhausted)))
			w.Header().Set("Grpc-Message", tooManyCalls)
			return
		}
		defer n.publicCalls.Give(network)
		calls.ServeHTTP(w, r)
	})
}

// The method answer() handles a call with one request and one response. It applies the
// receive limit for all services except Streams, and converts errors to statuses. Even
// a node that is not ready lists the methods that it supports.
func (n *Node) answer(ctx context.Context, m any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (answer any, err error) {
	if !strings.HasPrefix(info.FullMethod, "/"+api.Streams_ServiceDesc.ServiceName+"/") {
		if size := proto.Size(m.(proto.Message)); size > wire.MaxMessage {
			return nil, status.Errorf(codes.ResourceExhausted, "received message larger than max (%d vs. %d)", size, wire.MaxMessage)
		}
	}
	if _, ok := info.Server.(features); !ok {
		err = n.Ready()
	}
	if err == nil {
		answer, err = handle(ctx, m)
	}
	return answer, wire.Status(ctx, n.log.Logger, err)
}

// answerStream handles a call with a stream of requests or responses.
func (n *Node) answerStream(service any, call grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	err := n.Ready()
	if err == nil {
		err = handle(service, call)
	}
	return wire.Status(call.Context(), n.log.Logger, err)
}

// streamsService is the Streams service.
type streamsService struct {
	api.UnsafeStreamsServer // the compiler reports a missing method
	writes.Writes
	reads.Reads
}

// The type features is the ServerFeatures service. It lists the supported methods, so
// that clients avoid unsupported ones.
type features struct {
	serverfeatures.UnimplementedServerFeaturesServer
}

func (f features) GetSupportedMethods(context.Context, *shared.Empty) (*serverfeatures.SupportedMethods, error) {
	methods := &serverfeatures.SupportedMethods{EventStoreServerVersion: Version}
	add := func(service, method string, features ...string) {
		methods.Methods = append(methods.Methods, &serverfeatures.SupportedMethod{
			ServiceName: strings.ToLower(service), MethodName: method, Features: features,
		})
	}
	streams := api.Streams_ServiceDesc.ServiceName
	add(streams, "append")
	add(streams, "batchappend", "deadline_duration")
	add(streams, "delete")
	add(streams, "read", "position", "events")
	add(streams, "tombstone")
	for _, m := range persistentapi.PersistentSubscriptions_ServiceDesc.Methods {
		add(persistentapi.PersistentSubscriptions_ServiceDesc.ServiceName, strings.ToLower(m.MethodName), "stream", "all")
	}
	for _, m := range persistentapi.PersistentSubscriptions_ServiceDesc.Streams {
		add(persistentapi.PersistentSubscriptions_ServiceDesc.ServiceName, strings.ToLower(m.StreamName), "stream", "all")
	}
	add(gossip.Gossip_ServiceDesc.ServiceName, "read")
	add(serverfeatures.ServerFeatures_ServiceDesc.ServiceName, "getsupportedmethods")
	return methods, nil
}

// The type members is the Gossip service. It lists the node as the only member of its
// cluster.
type members struct {
	gossip.UnimplementedGossipServer
	log      *openlog.Log
	instance uuid.UUID
}

func (m members) Read(ctx context.Context, _ *shared.Empty) (*gossip.ClusterInfo, error) {
	return &gossip.ClusterInfo{Members: []*gossip.MemberInfo{{
		InstanceId:   wire.StructuredUUID(m.instance),
		TimeStamp:    record.Ticks(m.log.Now()),
		State:        gossip.MemberInfo_Leader,
		IsAlive:      true,
		HttpEndPoint: endPoint(ctx),
	}}}, nil
}

// endPoint returns the node's own address, as seen on the caller's connection.
func endPoint(ctx context.Context) *gossip.EndPoint {
	caller, ok := peer.FromContext(ctx)
	if !ok || caller.LocalAddr == nil {
		return &gossip.EndPoint{}
	}
	at, err := netip.ParseAddrPort(caller.LocalAddr.String())
	if err != nil {
		return &gossip.EndPoint{Address: caller.LocalAddr.String()}
	}
	return &gossip.EndPoint{Address: at.Addr().String(), Port: uint32(at.Port())}
}

// newHTTP returns the server for plain HTTP requests over HTTP/1.1 and over HTTP/2
// without TLS. On an HTTP/2 connection, gRPC calls may follow a plain request. The
// parameter calls is the handler of these gRPC calls.
func (n *Node) newHTTP(calls http.Handler) *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /info", n.info)
	mux.HandleFunc("GET /health/live", n.live)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), connmux.GRPCContent) {
				calls.ServeHTTP(w, r)
				return
			}
			mux.ServeHTTP(w, r)
		}),
		Protocols:         protocols,
		ReadHeaderTimeout: connmux.HeaderTimeout,
		IdleTimeout:       time.Minute,
		ErrorLog:          slog.NewLogLogger(n.log.Logger.Handler(), slog.LevelDebug),
	}
}

func (n *Node) info(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", wire.ContentJSON)
	_ = json.NewEncoder(w).Encode(map[string]any{ // fails only if the caller has disconnected
		"esVersion":      Version,
		"state":          "leader",
		"features":       map[string]bool{"projections": false, "userManagement": false, "atomPub": false},
		"authentication": map[string]any{"type": "insecure", "properties": []string{}},
	})
}

// While the node is ready, the method live() responds with 204 or with the status in
// the parameter liveCode. Otherwise it responds with 503.
func (n *Node) live(w http.ResponseWriter, r *http.Request) {
	code := http.StatusNoContent
	if asked, err := strconv.Atoi(r.URL.Query().Get("liveCode")); err == nil && asked >= 200 && asked <= 599 {
		code = asked
	}
	if n.Ready() != nil {
		code = http.StatusServiceUnavailable
	}
	w.WriteHeader(code)
}
