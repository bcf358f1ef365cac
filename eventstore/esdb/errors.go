package esdb

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"hexarena/eventstore"
)

// The function code() returns the code of an error from the client. For any other
// error, it returns es.ErrorCodeUnknown.
func code(err error) es.ErrorCode {
	var own *es.Error
	if errors.As(err, &own) {
		return own.Code()
	}
	return es.ErrorCodeUnknown
}

// The function definite reports whether an error is a decision of the server, so
// that a retry would get the same result. After any other error, the outcome is
// unknown: the server may have stored an append even if its response was lost.
func definite(err error) bool {
	if misdirected(err) {
		return false
	}
	switch code(err) {
	case es.ErrorCodeWrongExpectedVersion, es.ErrorCodeStreamDeleted, es.ErrorCodeResourceNotFound,
		es.ErrorCodeAccessDenied, es.ErrorCodeUnauthenticated, es.ErrorCodeUnsupportedFeature, es.ErrorCodeParsing:
		return true
	case es.ErrorCodeConnectionClosed:
		return false
	}
	switch status.Code(err) {
	case codes.InvalidArgument, codes.FailedPrecondition, codes.AlreadyExists, codes.OutOfRange,
		codes.PermissionDenied, codes.Unauthenticated, codes.Unimplemented, codes.DataLoss:
		return true
	}
	return tooLarge(err) || errors.As(err, new(panicked))
}

// The function unavailable reports whether an error means that the connection is
// lost or the server is unavailable.
func unavailable(err error) bool { return status.Code(err) == codes.Unavailable }

// misdirected reports whether a node refused a call because it is not the leader. A
// stream that does not exist is a message in a response, and never this status.
func misdirected(err error) bool {
	return code(err) == es.ErrorCodeNotLeader || status.Code(err) == codes.NotFound
}

// notLeader is the reason why a generation retires whose node names another node as the
// leader.
type notLeader struct{ leader es.EndPoint }

func (n *notLeader) Error() string {
	return "the node is not the leader; the leader is " + n.leader.String()
}

// The function answered() reports whether the outcome of a call shows that the server
// responds.
func answered(err error) bool {
	return err == nil || definite(err) && !errors.As(err, new(panicked))
}

// gaveUp returns the error of a call whose context ended. The error wraps the
// context's error, and describes the last failure. If the deadline has passed, it
// also wraps ErrUnavailable.
func gaveUp(ctx context.Context, what string, last error) error {
	err := ctx.Err()
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	if last != nil {
		return fmt.Errorf("%s: %w (%s)", what, err, describe(last))
	}
	return fmt.Errorf("%s: %w", what, err)
}

// translate turns the client's errors into the errors of package eventstore, and
// adds the name of the operation. It never wraps the client's own errors, so that
// no caller depends on them.
func translate(what string, err error) error {
	switch {
	case errors.Is(err, ErrClosed):
		return fmt.Errorf("%s: %w", what, ErrClosed)
	case errors.Is(err, eventstore.ErrEventsLost):
		return fmt.Errorf("%s: %w", what, err)
	case errors.Is(err, eventstore.ErrUnavailable), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err // gaveUp made this error, so it already names the operation
	case code(err) == es.ErrorCodeStreamDeleted:
		return fmt.Errorf("%s: %w", what, eventstore.ErrStreamDeleted)
	case tooLarge(err):
		return fmt.Errorf("%s: %w", what, eventstore.ErrTooLarge)
	}
	return fmt.Errorf("%s: %s", what, describe(err))
}

// describe returns the text of an error as one line. For an error from the server,
// it leaves out the text that the client adds.
func describe(err error) string {
	text := err.Error()
	var wire interface{ GRPCStatus() *status.Status }
	if errors.As(err, &wire) {
		text = fmt.Sprintf("%s: %s", wire.GRPCStatus().Code(), wire.GRPCStatus().Message())
	}
	return strings.Join(strings.Fields(text), " ")
}

// gotRevision finds the current revision of a stream in a client error.
var gotRevision = regexp.MustCompile(`but got '(no_stream|\d+)'`)

// currentRevision returns the current revision from the client's wrong-version
// error. It returns false if the error contains no revision.
func currentRevision(err error) (eventstore.Expected, bool) {
	match := gotRevision.FindStringSubmatch(err.Error())
	if match == nil {
		return 0, false
	}
	if match[1] == "no_stream" {
		return eventstore.NoStream, true
	}
	n, err := strconv.ParseInt(match[1], 10, 64)
	return eventstore.Expected(n), err == nil
}

// tooLarge reports whether the server rejected an append because of its size.
func tooLarge(err error) bool {
	switch status.Code(err) {
	case codes.ResourceExhausted:
		return strings.Contains(err.Error(), "larger than max")
	case codes.InvalidArgument:
		return strings.Contains(strings.ToLower(err.Error()), "maximum append size")
	}
	return false
}

// The type panicked is the error for a panic in the client.
type panicked struct{ value any }

func (p panicked) Error() string { return fmt.Sprintf("the client panicked: %v", p.value) }
