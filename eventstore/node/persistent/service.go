// Package persistent implements persistent subscriptions. The consumers of a group
// share the events of a stream or of $all and acknowledge each event. The group
// stores its progress in the log. New returns the gRPC service. The comment on the
// type group explains what happens to a message.
package persistent

import (
	"context"
	"fmt"
	"math"

	api "github.com/EventStore/EventStore-Client-Go/v4/protos/persistent"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"hexarena/eventstore/node/streams"
	"hexarena/eventstore/node/wire"
	"hexarena/eventstore/node/writer"
)

// Service is the PersistentSubscriptions service.
type Service struct {
	api.UnimplementedPersistentSubscriptionsServer
	*Log
	groups *groups
	public bool // anyone may call the service
}

// New returns the service for trusted clients. The first call loads the groups.
func New(r *streams.Reader, w *writer.Writer, q Quotas) Service {
	log := &Log{Reader: r, writer: w}
	return Service{Log: log, groups: newGroups(log, q)}
}

// Create implements the service.
func (p Service) Create(ctx context.Context, m *api.CreateReq) (*api.CreateResp, error) {
	c, from, err := readConfig(m.GetOptions())
	if err == nil {
		err = p.setStart(ctx, &c, from)
	}
	if err == nil {
		err = p.groups.create(p.caller(ctx), c)
	}
	return &api.CreateResp{}, err
}

// Update changes a group's settings. An UpdateReq has the same fields as a
// CreateReq, except for the filter and the strategy name.
func (p Service) Update(ctx context.Context, m *api.UpdateReq) (*api.UpdateResp, error) {
	o := &api.CreateReq_Options{}
	encoded, err := proto.Marshal(m.GetOptions())
	if err == nil {
		err = proto.Unmarshal(encoded, o)
	}
	if err != nil {
		return nil, err
	}
	c, from, err := readConfig(o)
	if err == nil {
		_, err = p.groups.find(c.Stream, c.Group)
	}
	if err == nil {
		err = p.setStart(ctx, &c, from)
	}
	if err == nil {
		err = p.groups.update(p.caller(ctx), c)
	}
	return &api.UpdateResp{}, err
}

// readConfig reads a group's settings and start from a request.
func readConfig(o *api.CreateReq_Options) (c groupConfig, from wire.Start, err error) {
	strategy := o.GetSettings().GetConsumerStrategy()
	if strategy == "" {
		strategy = o.GetSettings().GetNamedConsumerStrategy().String() //nolint:staticcheck // older clients send only this
	}
	c.Group = o.GetGroupName()
	if c.groupSettings, err = newSettings(o.GetSettings(), strategy); err != nil {
		return c, from, err
	}
	switch source := o.GetStreamOption().(type) {
	case *api.CreateReq_Options_Stream:
		c.Stream, err = wire.StreamName(source.Stream.GetStreamIdentifier())
		from = wire.ReadStart(source.Stream, source.Stream.GetRevision(), 0)
	case *api.CreateReq_Options_All:
		c.Stream, from = sourceAll, wire.ReadStart(source.All, source.All.GetPosition().GetCommitPosition(), 0)
		if f := source.All.GetFilter(); f != nil {
			c.Filter, err = wire.ReadFilter(f.GetStreamIdentifier(), f.GetEventType())
		}
	default: // clients before 21.10 send this form
		c.Stream, err = wire.StreamName(o.GetStreamIdentifier()) //nolint:staticcheck // older clients send only this
		from = wire.ExactStart(o.GetSettings().GetRevision(), 0) //nolint:staticcheck // older clients send only this
	}
	return c, from, err
}

// setStart sets the start of a group. If the client asks to start at the end, the
// start is the source's current end.
func (p Service) setStart(ctx context.Context, c *groupConfig, from wire.Start) error {
	if err := groupName(c.Stream, c.Group); err != nil {
		return err
	}
	if from.Kind == wire.FromExactly && from.At > math.MaxInt64 {
		return wire.Invalid("no event has revision or position %d", from.At)
	}
	c.StartPosition, c.From = startText(from, c.all()), from.At
	end := p.Tail.End()
	switch {
	case c.all() && from.Kind == wire.FromEnd:
		c.From = end + 1
	case c.all() && from.At > end:
		return refuseSettings(c.Stream, c.Group, "the start is beyond the end of the log")
	case c.all() && from.At > 0:
		_, found, err := p.Store.At(from.At)
		c.Nowhere = !found
		return err
	case from.Kind == wire.FromEnd:
		if err := p.Await(ctx, c.Stream, end); err != nil {
			return err
		}
		v, err := p.View(c.Stream, end)
		if err != nil {
			return err
		}
		c.From = uint64(v.Last) + 1
	}
	return nil
}

// Delete implements the service.
func (p Service) Delete(ctx context.Context, m *api.DeleteReq) (*api.DeleteResp, error) {
	stream, err := sourceName(m.GetOptions().GetStreamIdentifier(), m.GetOptions().GetAll())
	if err == nil {
		err = p.groups.remove(ctx, p.caller(ctx), stream, m.GetOptions().GetGroupName())
	}
	return &api.DeleteResp{}, err
}

// GetInfo implements the service.
func (p Service) GetInfo(ctx context.Context, m *api.GetInfoReq) (*api.GetInfoResp, error) {
	g, err := p.group(m.GetOptions())
	if err != nil {
		return nil, err
	}
	info, err := p.info(ctx, g)
	return &api.GetInfoResp{SubscriptionInfo: info}, err
}

// info describes a group. Only the group's owner sees the addresses of its
// subscribers.
func (p Service) info(ctx context.Context, g *group) (*api.SubscriptionInfo, error) {
	info, err := g.info()
	if err == nil && !p.caller(ctx).owns(g) {
		info.Connections = nil
	}
	return info, err
}

// ReplayParked implements the service.
func (p Service) ReplayParked(ctx context.Context, m *api.ReplayParkedReq) (*api.ReplayParkedResp, error) {
	o, stop := m.GetOptions(), int64(math.MaxInt64)
	if at, ok := o.GetStopAtOption().(*api.ReplayParkedReq_Options_StopAt); ok {
		stop = at.StopAt
	}
	g, err := p.group(o)
	if err == nil && stop < 0 {
		err = wire.Invalid("the revision at which a replay stops must not be negative")
	}
	if err == nil {
		err = p.groups.mayChange(p.caller(ctx), g)
	}
	if err == nil {
		err = g.startReplay(uint64(stop))
	}
	return &api.ReplayParkedResp{}, err
}

// sourceName returns the name of the stream in a request, or sourceAll.
func sourceName(id *shared.StreamIdentifier, all *shared.Empty) (string, error) {
	if all != nil {
		return sourceAll, nil
	}
	return wire.StreamName(id)
}

// group returns the group that is named in the options of a request.
func (p Service) group(o interface {
	GetStreamIdentifier() *shared.StreamIdentifier
	GetAll() *shared.Empty
	GetGroupName() string
}) (*group, error) {
	stream, err := sourceName(o.GetStreamIdentifier(), o.GetAll())
	if err != nil {
		return nil, err
	}
	return p.groups.find(stream, o.GetGroupName())
}

// List implements the service.
func (p Service) List(ctx context.Context, m *api.ListReq) (*api.ListResp, error) {
	stream, resp := "", &api.ListResp{}
	if of := m.GetOptions().GetListForStream(); of != nil {
		var err error
		if stream, err = sourceName(of.GetStream(), of.GetAll()); err != nil {
			return nil, err
		}
	}
	found, err := p.groups.list(stream)
	for _, g := range found {
		info, err := p.info(ctx, g)
		if err != nil {
			return nil, err
		}
		resp.Subscriptions = append(resp.Subscriptions, info)
	}
	return resp, err
}

// RestartSubsystem implements the service.
func (p Service) RestartSubsystem(context.Context, *shared.Empty) (*shared.Empty, error) {
	if p.public {
		return nil, wire.RefuseAccess()
	}
	return &shared.Empty{}, p.groups.restart()
}

func refuseGroup(code codes.Code, name, stream, group, how string) error {
	return wire.Refuse(code, fmt.Sprintf("Subscription group %s on stream %s %s.", group, stream, how),
		name, "stream-name", stream, "group-name", group)
}

func refuseExisting(stream, group string) error {
	return refuseGroup(codes.AlreadyExists, "persistent-subscription-exists", stream, group, "exists")
}

func refuseMissing(stream, group string) error {
	return refuseGroup(codes.NotFound, "persistent-subscription-does-not-exist", stream, group, "does not exist")
}

func refuseSubscriber(stream, group string) error {
	return refuseGroup(codes.FailedPrecondition, "maximum-subscribers-reached", stream, group, "already has the maximum number of subscribers")
}

// refuseDropped returns the error that ends a subscriber when its group is
// deleted, updated or reloaded.
func refuseDropped(stream, group string) error {
	return refuseGroup(codes.Canceled, "persistent-subscription-dropped", stream, group, "was dropped")
}

// refuseSettings returns the error for settings that conflict with each other.
func refuseSettings(stream, group, reason string) error {
	return wire.Refuse(codes.Internal, fmt.Sprintf("Subscription group %s on stream %s failed: '%s'", group, stream, reason),
		"persistent-subscription-failed", "stream-name", stream, "group-name", group, "reason", reason)
}
