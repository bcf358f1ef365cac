// Package persistent implements persistent subscriptions: several consumers share
// the events of a stream or of $all, acknowledge each of them, and the group keeps
// its progress in the log. New returns the gRPC service. The comment of group explains how a
// message travels.
package persistent

import (
	"context"
	"math"

	api "github.com/EventStore/EventStore-Client-Go/v4/protos/persistent"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"

	"hexarena/eventstore/node/wire"
)

// Service is the PersistentSubscriptions service.
type Service struct {
	api.UnimplementedPersistentSubscriptionsServer
	*Log
	groups *groups
}

// New returns the service. Groups are loaded by the first call.
func New(o Log) Service {
	return Service{Log: &o, groups: &groups{Log: &o}}
}

// unary returns the answer of a call with one answer.
func unary[M any](ctx context.Context, p Service, m *M, err error) (*M, error) {
	if err != nil {
		return nil, wire.UnaryStatus(ctx, p.Logger, err)
	}
	return m, nil
}

// Create implements the service.
func (p Service) Create(ctx context.Context, m *api.CreateReq) (*api.CreateResp, error) {
	err := p.Life.Ready()
	if err == nil {
		err = p.create(ctx, m.GetOptions())
	}
	return unary(ctx, p, &api.CreateResp{}, err)
}

func (p Service) create(ctx context.Context, o *api.CreateReq_Options) (err error) {
	strategy := o.GetSettings().GetConsumerStrategy()
	if strategy == "" {
		strategy = o.GetSettings().GetNamedConsumerStrategy().String() //nolint:staticcheck // older clients have nothing else
	}
	c := groupConfig{Group: o.GetGroupName()}
	if c.groupSettings, err = newSettings(o.GetSettings(), strategy); err != nil {
		return err
	}
	var from wire.Start
	switch source := o.GetStreamOption().(type) {
	case *api.CreateReq_Options_Stream:
		c.Stream, err = wire.StreamName(source.Stream.GetStreamIdentifier())
		from = revisionStart(source.Stream)
	case *api.CreateReq_Options_All:
		c.Stream, from = sourceAll, positionStart(source.All, source.All.GetPosition())
		if f := source.All.GetFilter(); f != nil {
			c.Filter, err = newGroupFilter(f)
		}
	default: // as clients before 21.10 have it
		c.Stream, err = wire.StreamName(o.GetStreamIdentifier()) //nolint:staticcheck // older clients have nothing else
		from = wire.ExactStart(o.GetSettings().GetRevision(), 0) //nolint:staticcheck // older clients have nothing else
	}
	if err == nil {
		err = p.begin(ctx, &c, from)
	}
	if err != nil {
		return err
	}
	return p.groups.create(c)
}

// Update implements the service.
func (p Service) Update(ctx context.Context, m *api.UpdateReq) (*api.UpdateResp, error) {
	err := p.Life.Ready()
	if err == nil {
		err = p.update(ctx, m.GetOptions())
	}
	return unary(ctx, p, &api.UpdateResp{}, err)
}

func (p Service) update(ctx context.Context, o *api.UpdateReq_Options) (err error) {
	c := groupConfig{Group: o.GetGroupName()}
	if c.groupSettings, err = newSettings(o.GetSettings(), o.GetSettings().GetNamedConsumerStrategy().String()); err != nil {
		return err
	}
	var from wire.Start
	switch source := o.GetStreamOption().(type) {
	case *api.UpdateReq_Options_Stream:
		c.Stream, err = wire.StreamName(source.Stream.GetStreamIdentifier())
		from = revisionStart(source.Stream)
	case *api.UpdateReq_Options_All:
		c.Stream, from = sourceAll, positionStart(source.All, source.All.GetPosition())
	default:
		c.Stream, err = wire.StreamName(o.GetStreamIdentifier()) //nolint:staticcheck // older clients have nothing else
		from = wire.ExactStart(o.GetSettings().GetRevision(), 0) //nolint:staticcheck // older clients have nothing else
	}
	if err == nil {
		_, err = p.groups.find(c.Stream, c.Group)
	}
	if err == nil {
		err = p.begin(ctx, &c, from)
	}
	if err != nil {
		return err
	}
	return p.groups.update(c)
}

// ends are the starts that requests of both kinds can name.
type ends interface {
	GetStart() *shared.Empty
	GetEnd() *shared.Empty
}

func revisionStart(o interface {
	ends
	GetRevision() uint64
}) wire.Start {
	switch {
	case o.GetStart() != nil:
		return wire.Start{Kind: wire.FromStart}
	case o.GetEnd() != nil:
		return wire.Start{Kind: wire.FromEnd}
	}
	return wire.ExactStart(o.GetRevision(), 0)
}

func positionStart(o ends, at interface{ GetCommitPosition() uint64 }) wire.Start {
	switch {
	case o.GetStart() != nil:
		return wire.Start{Kind: wire.FromStart}
	case o.GetEnd() != nil:
		return wire.Start{Kind: wire.FromEnd}
	}
	return wire.ExactStart(at.GetCommitPosition(), 0)
}

// begin sets the start of a group. The end means the source's end now.
func (p Service) begin(ctx context.Context, c *groupConfig, from wire.Start) error {
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
	case from.Kind == wire.FromEnd:
		if err := p.Streams.Await(ctx, c.Stream, end); err != nil {
			return err
		}
		v, err := p.Streams.View(c.Stream, end)
		if err != nil {
			return err
		}
		if !v.Tombstoned() {
			c.From = uint64(v.Last + 1)
		}
	}
	return nil
}

// sourceName returns the stream that a request names, or sourceAll.
func sourceName(id *shared.StreamIdentifier, all *shared.Empty) (string, error) {
	if all != nil {
		return sourceAll, nil
	}
	return wire.StreamName(id)
}

// Delete implements the service.
func (p Service) Delete(ctx context.Context, m *api.DeleteReq) (*api.DeleteResp, error) {
	stream, err := sourceName(m.GetOptions().GetStreamIdentifier(), m.GetOptions().GetAll())
	if err == nil {
		err = p.Life.Ready()
	}
	if err == nil {
		err = p.groups.remove(ctx, stream, m.GetOptions().GetGroupName())
	}
	return unary(ctx, p, &api.DeleteResp{}, err)
}

// GetInfo implements the service.
func (p Service) GetInfo(ctx context.Context, m *api.GetInfoReq) (*api.GetInfoResp, error) {
	resp := &api.GetInfoResp{}
	g, err := p.group(m.GetOptions().GetStreamIdentifier(), m.GetOptions().GetAll(), m.GetOptions().GetGroupName())
	if err == nil {
		resp.SubscriptionInfo, err = g.info()
	}
	return unary(ctx, p, resp, err)
}

// ReplayParked implements the service.
func (p Service) ReplayParked(ctx context.Context, m *api.ReplayParkedReq) (*api.ReplayParkedResp, error) {
	o, stop := m.GetOptions(), int64(math.MaxInt64)
	if at, ok := o.GetStopAtOption().(*api.ReplayParkedReq_Options_StopAt); ok {
		stop = at.StopAt
	}
	g, err := p.group(o.GetStreamIdentifier(), o.GetAll(), o.GetGroupName())
	switch {
	case err != nil:
	case stop < 0:
		err = wire.Invalid("parked messages are replayed up to a revision")
	default:
		err = g.startReplay(uint64(stop))
	}
	return unary(ctx, p, &api.ReplayParkedResp{}, err)
}

// group returns the group that a request names.
func (p Service) group(id *shared.StreamIdentifier, all *shared.Empty, name string) (*group, error) {
	stream, err := sourceName(id, all)
	if err == nil {
		err = p.Life.Ready()
	}
	if err != nil {
		return nil, err
	}
	return p.groups.find(stream, name)
}

// List implements the service.
func (p Service) List(ctx context.Context, m *api.ListReq) (*api.ListResp, error) {
	resp := &api.ListResp{}
	err := p.Life.Ready()
	if err == nil {
		err = p.list(m.GetOptions(), resp)
	}
	return unary(ctx, p, resp, err)
}

func (p Service) list(o *api.ListReq_Options, resp *api.ListResp) (err error) {
	stream := ""
	if of := o.GetListForStream(); of != nil {
		if stream, err = sourceName(of.GetStream(), of.GetAll()); err != nil {
			return err
		}
	}
	found, err := p.groups.list(stream)
	for _, g := range found {
		info, err := g.info()
		if err != nil {
			return err
		}
		resp.Subscriptions = append(resp.Subscriptions, info)
	}
	return err
}

// RestartSubsystem implements the service.
func (p Service) RestartSubsystem(ctx context.Context, _ *shared.Empty) (*shared.Empty, error) {
	err := p.Life.Ready()
	if err == nil {
		err = p.groups.restart()
	}
	return unary(ctx, p, &shared.Empty{}, err)
}
