package node

import (
	"context"
	"math"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/persistent"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"

	"hexarena/eventstore/node/wire"
)

// persistentSubscriptions is the PersistentSubscriptions service.
type persistentSubscriptions struct {
	persistent.UnimplementedPersistentSubscriptionsServer
	*eventLog
	groups *groups
}

// newPersistentService returns the service. Groups are loaded by the first call.
func newPersistentService(o eventLog) persistentSubscriptions {
	return persistentSubscriptions{eventLog: &o, groups: &groups{eventLog: &o}}
}

// unary ends a call that has one answer.
func unary[M any](ctx context.Context, p persistentSubscriptions, m *M, err error) (*M, error) {
	if err != nil {
		return nil, wire.UnaryStatus(ctx, p.logger, err)
	}
	return m, nil
}

func (p persistentSubscriptions) Create(ctx context.Context, m *persistent.CreateReq) (*persistent.CreateResp, error) {
	err := p.life.Ready()
	if err == nil {
		err = p.create(ctx, m.GetOptions())
	}
	return unary(ctx, p, &persistent.CreateResp{}, err)
}

func (p persistentSubscriptions) create(ctx context.Context, o *persistent.CreateReq_Options) (err error) {
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
	case *persistent.CreateReq_Options_Stream:
		c.Stream, err = wire.StreamName(source.Stream.GetStreamIdentifier())
		from = revisionStart(source.Stream)
	case *persistent.CreateReq_Options_All:
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

func (p persistentSubscriptions) Update(ctx context.Context, m *persistent.UpdateReq) (*persistent.UpdateResp, error) {
	err := p.life.Ready()
	if err == nil {
		err = p.update(ctx, m.GetOptions())
	}
	return unary(ctx, p, &persistent.UpdateResp{}, err)
}

func (p persistentSubscriptions) update(ctx context.Context, o *persistent.UpdateReq_Options) (err error) {
	c := groupConfig{Group: o.GetGroupName()}
	if c.groupSettings, err = newSettings(o.GetSettings(), o.GetSettings().GetNamedConsumerStrategy().String()); err != nil {
		return err
	}
	var from wire.Start
	switch source := o.GetStreamOption().(type) {
	case *persistent.UpdateReq_Options_Stream:
		c.Stream, err = wire.StreamName(source.Stream.GetStreamIdentifier())
		from = revisionStart(source.Stream)
	case *persistent.UpdateReq_Options_All:
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

// ends are how both kinds of request name the ends.
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

// begin fixes where a group begins: the end is where the source ends now.
func (p persistentSubscriptions) begin(ctx context.Context, c *groupConfig, from wire.Start) error {
	if err := groupName(c.Stream, c.Group); err != nil {
		return err
	}
	if from.Kind == wire.FromExactly && from.At > math.MaxInt64 {
		return wire.Invalid("nothing begins at %d", from.At)
	}
	c.StartPosition, c.From = startText(from, c.all()), from.At
	end := p.tail.End()
	switch {
	case c.all() && from.Kind == wire.FromEnd:
		c.From = end + 1
	case c.all() && from.At > end:
		return refuseSettings(c.Stream, c.Group, "the start is beyond the end of the log")
	case from.Kind == wire.FromEnd:
		if err := p.streams.Await(ctx, c.Stream, end); err != nil {
			return err
		}
		v, err := p.streams.View(c.Stream, end)
		if err != nil {
			return err
		}
		if !v.Tombstoned() {
			c.From = uint64(v.Last + 1)
		}
	}
	return nil
}

// sourceName is the stream that a request names.
func sourceName(id *shared.StreamIdentifier, all *shared.Empty) (string, error) {
	if all != nil {
		return sourceAll, nil
	}
	return wire.StreamName(id)
}

func (p persistentSubscriptions) Delete(ctx context.Context, m *persistent.DeleteReq) (*persistent.DeleteResp, error) {
	stream, err := sourceName(m.GetOptions().GetStreamIdentifier(), m.GetOptions().GetAll())
	if err == nil {
		err = p.life.Ready()
	}
	if err == nil {
		err = p.groups.remove(ctx, stream, m.GetOptions().GetGroupName())
	}
	return unary(ctx, p, &persistent.DeleteResp{}, err)
}

func (p persistentSubscriptions) GetInfo(ctx context.Context, m *persistent.GetInfoReq) (*persistent.GetInfoResp, error) {
	resp := &persistent.GetInfoResp{}
	g, err := p.group(m.GetOptions().GetStreamIdentifier(), m.GetOptions().GetAll(), m.GetOptions().GetGroupName())
	if err == nil {
		resp.SubscriptionInfo, err = g.info()
	}
	return unary(ctx, p, resp, err)
}

func (p persistentSubscriptions) ReplayParked(ctx context.Context, m *persistent.ReplayParkedReq) (*persistent.ReplayParkedResp, error) {
	o, stop := m.GetOptions(), int64(math.MaxInt64)
	if at, ok := o.GetStopAtOption().(*persistent.ReplayParkedReq_Options_StopAt); ok {
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
	return unary(ctx, p, &persistent.ReplayParkedResp{}, err)
}

// group is the group that a request names.
func (p persistentSubscriptions) group(id *shared.StreamIdentifier, all *shared.Empty, name string) (*persistentGroup, error) {
	stream, err := sourceName(id, all)
	if err == nil {
		err = p.life.Ready()
	}
	if err != nil {
		return nil, err
	}
	return p.groups.find(stream, name)
}

func (p persistentSubscriptions) List(ctx context.Context, m *persistent.ListReq) (*persistent.ListResp, error) {
	resp := &persistent.ListResp{}
	err := p.life.Ready()
	if err == nil {
		err = p.list(m.GetOptions(), resp)
	}
	return unary(ctx, p, resp, err)
}

func (p persistentSubscriptions) list(o *persistent.ListReq_Options, resp *persistent.ListResp) (err error) {
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

func (p persistentSubscriptions) RestartSubsystem(ctx context.Context, _ *shared.Empty) (*shared.Empty, error) {
	err := p.life.Ready()
	if err == nil {
		err = p.groups.restart()
	}
	return unary(ctx, p, &shared.Empty{}, err)
}
