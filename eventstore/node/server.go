package node

import (
	"context"
	"net"
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
	"google.golang.org/protobuf/proto"

	"hexarena/eventstore/node/lifecycle"
	"hexarena/eventstore/node/reads"
	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/wire"
	"hexarena/eventstore/node/writes"
)

// Version is the version of EventStoreDB whose protocol the node speaks.
const Version = "24.10.4"

// Limits of messages and connections.
const (
	receiveStreams = 16<<20 - 10_000
	pingAfter      = 10 * time.Second
	pingTimeout    = 10 * time.Second
	maxStreams     = 4096 // calls at once on one connection

	// With fixed windows gRPC sends no pings to measure the bandwidth. Workers avoid
	// growing a new stack for each call.
	streamWindow = 1 << 20
	connWindow   = 4 << 20
	workers      = 64
)

func (n *Node) newServer(readOnly bool) *grpc.Server {
	s := grpc.NewServer(
		grpc.ForceServerCodecV2(wire.NewCodec()),
		grpc.MaxRecvMsgSize(receiveStreams),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: pingAfter, Timeout: pingTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 1, PermitWithoutStream: true}),
		grpc.UnaryInterceptor(limitUnary),
		grpc.StaticStreamWindowSize(streamWindow),
		grpc.StaticConnWindowSize(connWindow),
		grpc.NumStreamWorkers(workers),
		grpc.WaitForHandlers(true),
	)
	writes := n.writes
	writes.ReadOnly = readOnly
	api.RegisterStreamsServer(s, streamsService{Writes: writes, Reads: n.reads})
	serverfeatures.RegisterServerFeaturesServer(s, features{})
	gossip.RegisterGossipServer(s, members{life: n.life, now: n.now, instance: n.instance})
	persistentapi.RegisterPersistentSubscriptionsServer(s, n.persistent)
	return s
}

// limitUnary applies the receive limit of the services other than Streams.
func limitUnary(ctx context.Context, m any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if !strings.HasPrefix(info.FullMethod, "/"+api.Streams_ServiceDesc.ServiceName+"/") {
		if size := proto.Size(m.(proto.Message)); size > wire.MaxMessage {
			return nil, status.Errorf(codes.ResourceExhausted, "received message larger than max (%d vs. %d)", size, wire.MaxMessage)
		}
	}
	return handle(ctx, m)
}

// streamsService is the Streams service.
type streamsService struct {
	api.UnsafeStreamsServer // the compiler reports a missing method
	writes.Writes
	reads.Reads
}

// features is the ServerFeatures service. It lists the supported methods, so that
// clients avoid the others.
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

// members is the Gossip service: the node is a cluster of one.
type members struct {
	gossip.UnimplementedGossipServer
	life     *lifecycle.Lifecycle
	now      func() time.Time
	instance uuid.UUID
}

func (m members) Read(ctx context.Context, _ *shared.Empty) (*gossip.ClusterInfo, error) {
	if err := m.life.Ready(); err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	return &gossip.ClusterInfo{Members: []*gossip.MemberInfo{{
		InstanceId:   wire.StructuredUUID(m.instance),
		TimeStamp:    record.Ticks(m.now()),
		State:        gossip.MemberInfo_Leader,
		IsAlive:      true,
		HttpEndPoint: endPoint(ctx),
	}}}, nil
}

// endPoint returns the address at which the caller reached the node.
func endPoint(ctx context.Context) *gossip.EndPoint {
	caller, ok := peer.FromContext(ctx)
	if !ok || caller.LocalAddr == nil {
		return &gossip.EndPoint{}
	}
	host, port, err := net.SplitHostPort(caller.LocalAddr.String())
	if err != nil {
		return &gossip.EndPoint{Address: caller.LocalAddr.String()}
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		number = 0
	}
	return &gossip.EndPoint{Address: host, Port: uint32(number)}
}
