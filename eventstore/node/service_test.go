package node

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/gossip"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/projections"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/serverfeatures"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"hexarena/eventstore/node/quota"
	"hexarena/eventstore/node/wire"
	"hexarena/eventstore/node/writer"
)

func TestSupportedMethods(t *testing.T) {
	f := serve(t)
	methods, err := serverfeatures.NewServerFeaturesClient(f.conn).GetSupportedMethods(f.ctx, &shared.Empty{})
	require.NoError(t, err)
	require.Regexp(t, `^\d+\.\d+\.\d+$`, methods.GetEventStoreServerVersion())
	got := map[string][]string{}
	for _, m := range methods.GetMethods() {
		require.Equal(t, strings.ToLower(m.GetServiceName()+m.GetMethodName()), m.GetServiceName()+m.GetMethodName())
		got[m.GetServiceName()+"/"+m.GetMethodName()] = m.GetFeatures()
	}
	require.Equal(t, []string{"position", "events"}, got["event_store.client.streams.streams/read"])
	require.Contains(t, got, "event_store.client.streams.streams/append")
	for _, m := range []string{"create", "update", "delete", "read", "getinfo", "replayparked", "list", "restartsubsystem"} {
		require.Equal(t, []string{"stream", "all"}, got["event_store.client.persistent_subscriptions.persistentsubscriptions/"+m], m)
	}
	require.Equal(t, []string{"deadline_duration"}, got["event_store.client.streams.streams/batchappend"])
}

func TestGossip(t *testing.T) {
	f := serve(t)
	info, err := gossip.NewGossipClient(f.conn).Read(f.ctx, &shared.Empty{})
	require.NoError(t, err)
	require.Len(t, info.GetMembers(), 1)
	me := info.GetMembers()[0]
	require.Equal(t, gossip.MemberInfo_Leader, me.GetState())
	require.True(t, me.GetIsAlive())
	require.NotNil(t, me.GetInstanceId().GetStructured())
	require.Equal(t, f.addr, net.JoinHostPort(me.GetHttpEndPoint().GetAddress(), strconv.FormatUint(uint64(me.GetHttpEndPoint().GetPort()), 10)))

	config, err := esdb.ParseConnectionString("esdb://" + f.addr + "," + f.addr + "?tls=false")
	require.NoError(t, err)
	config.Logger = esdb.NoopLogging()
	client, err := esdb.NewClient(config)
	require.NoError(t, err)
	defer client.Close()
	_, err = client.AppendToStream(f.ctx, "s", esdb.AppendToStreamOptions{ExpectedRevision: esdb.Any{}}, esdb.EventData{EventType: "T"})
	require.NoError(t, err, "the client must discover the node through gossip")
}

// The response to an unsupported call consists only of trailers.
func TestUnsupportedCallsAreUnimplemented(t *testing.T) {
	f := serve(t)
	trailersOnly := func(t *testing.T, err error, header metadata.MD) {
		require.Equal(t, codes.Unimplemented, status.Code(err))
		require.Empty(t, header)
	}
	t.Run("projections", func(t *testing.T) {
		var header metadata.MD
		_, err := projections.NewProjectionsClient(f.conn).Create(f.ctx, &projections.CreateReq{}, grpc.Header(&header))
		trailersOnly(t, err, header)
	})
	t.Run("a method that does not exist", func(t *testing.T) {
		err := f.conn.Invoke(f.ctx, "/event_store.client.streams.Streams/Nothing", &shared.Empty{}, &shared.Empty{})
		trailersOnly(t, err, nil)
	})
}

// Services other than Streams accept messages of at most 4 MiB.
func TestReceiveLimitOfOtherServices(t *testing.T) {
	f := serve(t)
	padded := func(n int) *shared.Empty {
		m := &shared.Empty{}
		field := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), strings.Repeat("x", n-6))
		m.ProtoReflect().SetUnknown(field)
		require.Equal(t, n-6+5, proto.Size(m))
		return m
	}
	client := gossip.NewGossipClient(f.conn)
	_, err := client.Read(f.ctx, padded(wire.MaxMessage))
	require.NoError(t, err)
	_, err = client.Read(f.ctx, padded(wire.MaxMessage+2))
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
}

// Clients may send the headers authorization, requires-leader and connection-name.
func TestHeadersAreAccepted(t *testing.T) {
	f := serve(t)
	f.ctx = metadata.AppendToOutgoingContext(f.ctx, "authorization", "Basic YWRtaW46Y2hhbmdlaXQ=", "requires-leader", "true", "connection-name", "x")
	f.must("s", writer.Any, fresh(1)...)
	require.Len(t, f.events(ofStream("s")), 1)
}

// Plain HTTP works on the same port, over HTTP/1.1 and over HTTP/2 without TLS.
func TestHTTP(t *testing.T) {
	f := serve(t)
	h2c := &http.Transport{Protocols: new(http.Protocols)}
	h2c.Protocols.SetUnencryptedHTTP2(true)
	plain := &http.Transport{}
	defer h2c.CloseIdleConnections()
	defer plain.CloseIdleConnections()
	for name, transport := range map[string]*http.Transport{"HTTP/1.1": plain, "h2c": h2c} {
		t.Run(name, func(t *testing.T) {
			ask := func(method, path string) (int, string) {
				request, err := http.NewRequestWithContext(f.ctx, method, "http://"+f.addr+path, nil)
				require.NoError(t, err)
				response, err := transport.RoundTrip(request)
				require.NoError(t, err)
				defer response.Body.Close()
				body, err := io.ReadAll(response.Body)
				require.NoError(t, err)
				require.Equal(t, name == "h2c", response.ProtoMajor == 2)
				return response.StatusCode, string(body)
			}
			code, body := ask("GET", "/info")
			require.Equal(t, http.StatusOK, code)
			var info map[string]any
			require.NoError(t, json.Unmarshal([]byte(body), &info))
			require.Equal(t, "leader", info["state"])
			require.Equal(t, Version, info["esVersion"])
			require.Contains(t, info["features"], "projections")
			require.Contains(t, info["features"], "userManagement")
			require.Contains(t, info["features"], "atomPub")
			require.Equal(t, map[string]any{"type": "insecure", "properties": []any{}}, info["authentication"])

			for path, want := range map[string]int{"/health/live": 204, "/health/live?liveCode=200": 200, "/health/live?liveCode=x": 204, "/nothing": 404} {
				for _, method := range []string{"GET", "HEAD"} {
					code, _ := ask(method, path)
					require.Equal(t, want, code, "%s %s", method, path)
				}
			}
			code, _ = ask("POST", "/info")
			require.Equal(t, http.StatusMethodNotAllowed, code)
		})
	}
	t.Run("no longer live", func(t *testing.T) {
		f.node.log.Life.Fail(errors.New("failed by the test"))
		recorder := &statusOnly{header: http.Header{}}
		request, err := http.NewRequestWithContext(f.ctx, http.MethodGet, "/health/live", nil)
		require.NoError(t, err)
		f.node.live(recorder, request)
		require.Equal(t, http.StatusServiceUnavailable, recorder.code)
		require.Equal(t, codes.Unavailable, status.Code(wire.Status(f.ctx, quiet, f.node.Ready())))
	})
}

type statusOnly struct {
	header http.Header
	code   int
}

func (s *statusOnly) Header() http.Header         { return s.header }
func (s *statusOnly) Write(b []byte) (int, error) { return len(b), nil }
func (s *statusOnly) WriteHeader(code int)        { s.code = code }

// A client may send a plain request and then gRPC calls on the same HTTP/2
// connection.
func TestGRPCBehindAPlainRequest(t *testing.T) {
	f := serve(t)
	response, body := f.gossipBehindAPlainRequest()
	require.Equal(t, "0", response.Trailer.Get("Grpc-Status"))
	var info gossip.ClusterInfo
	require.NoError(t, proto.Unmarshal(body[5:], &info))
	require.Len(t, info.GetMembers(), 1)
}

// The quota of calls also applies to gRPC calls that follow a plain request on the same
// connection.
func TestQuotaBehindAPlainRequest(t *testing.T) {
	f := serve(t, Options{Quotas: Quotas{Calls: quota.Limit{PerNetwork: 1}}})
	public := f.readOnly()
	response, _ := public.gossipBehindAPlainRequest()
	require.Equal(t, "0", response.Trailer.Get("Grpc-Status"))
	public.subscribe(ofAll).confirmed()
	response, _ = public.gossipBehindAPlainRequest()
	require.Equal(t, "8", response.Header.Get("Grpc-Status"), "ResourceExhausted")
	require.Equal(t, 1, f.node.PublicStats().Calls)
}

func (f *fixture) gossipBehindAPlainRequest() (response *http.Response, body []byte) {
	t := f.t
	t.Helper()
	h2c := &http.Transport{Protocols: new(http.Protocols)}
	h2c.Protocols.SetUnencryptedHTTP2(true)
	defer h2c.CloseIdleConnections()
	response, err := (&http.Client{Transport: h2c}).Get("http://" + f.addr + "/info")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())

	empty, err := proto.Marshal(&shared.Empty{})
	require.NoError(t, err)
	frame := append([]byte{0, 0, 0, 0, byte(len(empty))}, empty...)
	request, err := http.NewRequestWithContext(f.ctx, http.MethodPost, "http://"+f.addr+"/event_store.client.gossip.Gossip/Read", strings.NewReader(string(frame)))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("TE", "trailers")
	response, err = h2c.RoundTrip(request)
	require.NoError(t, err)
	body, err = io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response, body
}

// A client that sends the HTTP/2 preface and then waits for the server is treated
// as a gRPC client. A client that sends nothing, or nonsense, does no harm.
func TestIncompleteConnections(t *testing.T) {
	f := serve(t)
	dial := func(t *testing.T) net.Conn {
		conn, err := (&net.Dialer{}).DialContext(f.ctx, "tcp", f.addr)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	t.Run("only the preface", func(t *testing.T) {
		conn := dial(t)
		_, err := conn.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
		require.NoError(t, err)
		head := make([]byte, 9)
		_, err = io.ReadFull(conn, head)
		require.NoError(t, err)
		require.EqualValues(t, 4, head[3], "a SETTINGS frame")
	})
	t.Run("nonsense", func(t *testing.T) {
		conn := dial(t)
		_, err := conn.Write([]byte("nonsense that goes on and on\r\n\r\n"))
		require.NoError(t, err)
		answer, err := io.ReadAll(conn)
		require.NoError(t, err)
		require.Contains(t, string(answer), "400")
	})
	t.Run("silence until the node closes", func(t *testing.T) {
		f := serve(t)
		conn, err := net.Dial("tcp", f.addr)
		require.NoError(t, err)
		defer conn.Close()
		f.must("s", writer.Any, fresh(1)...)
		require.NoError(t, f.node.Close())
	})
	t.Run("silence, then a disconnect", func(t *testing.T) { require.NoError(t, dial(t).Close()) })
	f.must("s", writer.Any, fresh(1)...)
}

// Clients may send pings at any rate.
func TestPingsAreAnswered(t *testing.T) {
	const pings = 300
	f := serve(t)
	conn, err := (&net.Dialer{}).DialContext(f.ctx, "tcp", f.addr)
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte(http2.ClientPreface))
	require.NoError(t, err)
	framer := http2.NewFramer(conn, conn)
	require.NoError(t, framer.WriteSettings())
	go func() {
		for i := range pings {
			_ = framer.WritePing(false, [8]byte{byte(i)})
		}
	}()
	for answered := 0; answered < pings; {
		frame, err := framer.ReadFrame()
		require.NoError(t, err)
		require.NotEqual(t, http2.FrameGoAway, frame.Header().Type)
		if ping, ok := frame.(*http2.PingFrame); ok && ping.IsAck() {
			answered++
		}
	}
}

// requireClientLifecycle writes, reads and deletes a stream through the official
// client.
func requireClientLifecycle(t *testing.T, f *fixture, client *esdb.Client, stream string) {
	t.Helper()
	ctx := f.ctx
	event := esdb.EventData{EventID: uuid.New(), EventType: "Happened", ContentType: esdb.ContentTypeJson, Data: []byte(`{}`)}
	written, err := client.AppendToStream(ctx, stream, esdb.AppendToStreamOptions{ExpectedRevision: esdb.NoStream{}}, event)
	require.NoError(t, err)
	require.Zero(t, written.NextExpectedVersion)
	require.NotZero(t, written.CommitPosition)

	_, err = client.AppendToStream(ctx, stream, esdb.AppendToStreamOptions{ExpectedRevision: esdb.Revision(7)}, event)
	require.Equal(t, esdb.ErrorCodeWrongExpectedVersion, code(t, err))

	_, err = client.SetStreamMetadata(ctx, stream, esdb.AppendToStreamOptions{ExpectedRevision: esdb.Any{}}, maxCountOf(1))
	require.NoError(t, err)
	meta, err := client.GetStreamMetadata(ctx, stream, esdb.ReadStreamOptions{From: esdb.End{}, Direction: esdb.Backwards})
	require.NoError(t, err)
	require.EqualValues(t, 1, *meta.MaxCount())

	deleted, err := client.DeleteStream(ctx, stream, esdb.DeleteStreamOptions{ExpectedRevision: esdb.Any{}})
	require.NoError(t, err)
	require.Greater(t, deleted.Position.Commit, written.CommitPosition)
	read, err := client.ReadStream(ctx, stream, esdb.ReadStreamOptions{From: esdb.Start{}}, 10)
	require.NoError(t, err)
	_, err = read.Recv()
	require.Equal(t, esdb.ErrorCodeResourceNotFound, code(t, err))

	gone, err := client.TombstoneStream(ctx, stream, esdb.TombstoneStreamOptions{ExpectedRevision: esdb.Any{}})
	require.NoError(t, err)
	require.Greater(t, gone.Position.Commit, deleted.Position.Commit)
	_, err = client.AppendToStream(ctx, stream, esdb.AppendToStreamOptions{ExpectedRevision: esdb.Any{}}, event)
	require.Equal(t, esdb.ErrorCodeStreamDeleted, code(t, err))
	read, err = client.ReadStream(ctx, stream, esdb.ReadStreamOptions{From: esdb.Start{}}, 10)
	require.NoError(t, err)
	_, err = read.Recv()
	require.Equal(t, esdb.ErrorCodeStreamDeleted, code(t, err))
}

func maxCountOf(n uint64) (m esdb.StreamMetadata) {
	m.SetMaxCount(n)
	return m
}

func code(t *testing.T, err error) esdb.ErrorCode {
	t.Helper()
	var e *esdb.Error
	require.ErrorAs(t, err, &e)
	return e.Code()
}
