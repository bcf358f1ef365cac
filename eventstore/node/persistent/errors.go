package persistent

import (
	"fmt"

	"google.golang.org/grpc/codes"

	"hexarena/eventstore/node/wire"
)

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
	return refuseGroup(codes.FailedPrecondition, "maximum-subscribers-reached", stream, group, "has as many subscribers as it may")
}

// refuseDropped ends a subscriber because its group was deleted, updated or loaded
// again.
func refuseDropped(stream, group string) error {
	return refuseGroup(codes.Canceled, "persistent-subscription-dropped", stream, group, "was dropped")
}

// refuseSettings rejects settings that contradict each other.
func refuseSettings(stream, group, reason string) error {
	return wire.Refuse(codes.Internal, fmt.Sprintf("Subscription group %s on stream %s failed: '%s'", group, stream, reason),
		"persistent-subscription-failed", "stream-name", stream, "group-name", group, "reason", reason)
}
