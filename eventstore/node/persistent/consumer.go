package persistent

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	api "github.com/EventStore/EventStore-Client-Go/v4/protos/persistent"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"hexarena/eventstore/node/openlog"
	"hexarena/eventstore/node/wire"
)

// consumer is one subscriber of a group.
type consumer struct {
	call    api.PersistentSubscriptions_ReadServer
	textIDs bool
	size    int // how many unanswered messages the consumer may have
	from    string
	name    string

	// The group's lock guards the next three fields.
	inFlight map[*message]struct{}
	queue    []turn // messages to send
	total    measure

	wake  *openlog.Watcher // signaled when there is a message to send
	once  sync.Once
	ended chan struct{} // closed once cause is set
	cause error
}

// turn is one assignment of a message to a consumer.
type turn struct {
	message *message
	number  int
}

// Read implements the service.
func (p Service) Read(call api.PersistentSubscriptions_ReadServer) error {
	m, err := receive(call)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	o := m.GetOptions()
	switch {
	case o == nil:
		return wire.Invalid("a persistent subscription must begin with its options")
	case o.GetBufferSize() <= 0:
		return wire.Invalid("the buffer size of a subscriber must be greater than 0")
	}
	g, err := p.group(o)
	if err == nil {
		err = p.mayJoin(call.Context(), g)
	}
	if err != nil {
		return err
	}
	c := newConsumer(o, call, p.largestConsumer())
	if err := g.connect(c); err != nil {
		return err
	}
	defer g.leave(c)
	if err := call.Send(&api.ReadResp{Content: &api.ReadResp_SubscriptionConfirmation_{
		SubscriptionConfirmation: &api.ReadResp_SubscriptionConfirmation{SubscriptionId: g.config.key()},
	}}); err != nil {
		return err
	}
	go c.listen(g) // until the call ends
	return g.serve(c)
}

func newConsumer(o *api.ReadReq_Options, call api.PersistentSubscriptions_ReadServer, largest int) *consumer {
	c := &consumer{
		call:     call,
		textIDs:  o.GetUuidOption().GetString_() != nil,
		size:     min(int(o.GetBufferSize()), largest),
		name:     "<unknown>",
		inFlight: map[*message]struct{}{},
		wake:     openlog.NewWatcher(),
		ended:    make(chan struct{}),
		total:    measure{since: time.Now()},
	}
	if md, ok := metadata.FromIncomingContext(call.Context()); ok {
		if names := md.Get("connection-name"); len(names) > 0 {
			c.name = names[0]
		}
	}
	if caller, ok := peer.FromContext(call.Context()); ok {
		c.from = caller.Addr.String()
	}
	return c
}

// The method free() returns how many more messages the consumer can take.
func (c *consumer) free() int { return c.size - len(c.inFlight) }

// unanswered returns the consumer's unanswered messages in the order in which the group
// read them. It also clears the consumer's queue.
func (c *consumer) unanswered() []*message {
	c.queue = nil
	messages := make([]*message, 0, len(c.inFlight))
	for m := range c.inFlight {
		messages = append(messages, m)
	}
	slices.SortFunc(messages, func(a, b *message) int {
		return cmp.Or(cmp.Compare(a.sequence, b.sequence), cmp.Compare(a.at, b.at))
	})
	return messages
}

// The method end() ends the call with the given cause. Only the first cause has an
// effect.
func (c *consumer) end(cause error) {
	c.once.Do(func() {
		c.cause = cause
		close(c.ended)
	})
}

// receive returns the next message, or an error if the message is too large.
func receive(call api.PersistentSubscriptions_ReadServer) (*api.ReadReq, error) {
	m, err := call.Recv()
	if size := proto.Size(m); err == nil && size > wire.MaxMessage {
		err = status.Errorf(codes.ResourceExhausted, "received message larger than max (%d vs. %d)", size, wire.MaxMessage)
	}
	return m, err
}

// listen receives the client's acks and nacks until the call ends. A client that has
// closed its sending side still receives messages.
func (c *consumer) listen(g *group) {
	for {
		m, err := receive(c.call)
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil {
			err = c.take(g, m)
		}
		if err != nil {
			c.end(err)
			return
		}
	}
}

func (c *consumer) take(g *group, m *api.ReadReq) error {
	switch content := m.GetContent().(type) {
	case *api.ReadReq_Ack_:
		ids, err := eventIDs(content.Ack.GetIds())
		g.ack(c, ids)
		return err
	case *api.ReadReq_Nack_:
		ids, err := eventIDs(content.Nack.GetIds())
		g.nack(c, ids, content.Nack.GetAction(), content.Nack.GetReason())
		return err
	}
	return wire.Invalid("a subscriber must send acks or nacks, not %T", m.GetContent())
}

func eventIDs(all []*shared.UUID) ([]uuid.UUID, error) {
	ids := make([]uuid.UUID, 0, len(all))
	for _, m := range all {
		id, err := wire.EventID(m)
		if err != nil {
			return ids, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// serve sends messages to a consumer until the consumer leaves.
func (g *group) serve(c *consumer) error {
	for {
		select {
		case <-c.ended:
			return c.cause
		default:
		}
		m, retries := g.take(c)
		if m == nil {
			select {
			case <-c.wake.Wake():
				continue
			case <-c.ended:
				return c.cause
			case <-c.call.Context().Done():
				return c.call.Context().Err()
			case <-g.Life.Open().Done():
				return g.Life.Ready()
			}
		}
		found, ok, err := g.load(m)
		if err != nil {
			return err
		}
		if !ok {
			g.pass(m, c)
			continue
		}
		f := wire.Frame(wire.AppendRetriedEvent(nil, found, c.textIDs, retries))
		if err := c.call.SendMsg(&f); err != nil {
			return err
		}
	}
}

// take returns the next message to send, or nil. It skips messages that the group has
// taken back since it assigned them.
func (g *group) take(c *consumer) (*message, int32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(c.queue) > 0 {
		next := c.queue[0]
		c.queue = c.queue[1:]
		if m := next.message; m.to == c && m.turn == next.number {
			return m, m.retries
		}
	}
	return nil, 0
}
