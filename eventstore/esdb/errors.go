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

// code returns the client's own code of an error; es.ErrorCodeUnknown for any
// other error.
func code(err error) es.ErrorCode {
	var own *es.Error
	if errors.As(err, &own) {
		return own.Code()
	}
	return es.ErrorCodeUnknown
}

// definite says that the server has decided: to try again changes nothing.
// Everything else leaves the outcome open.
func definite(err error) bool {
	switch code(err) {
	case es.ErrorCodeWrongExpectedVersion, es.ErrorCodeStreamDeleted, es.ErrorCodeResourceNotFound,
		es.ErrorCodeAccessDenied, es.ErrorCodeUnauthenticated, es.ErrorCodeUnsupportedFeature, es.ErrorCodeParsing:
		return true
	case es.ErrorCodeConnectionClosed:
		return false
	}
	switch status.Code(err) {
	case codes.InvalidArgument, codes.FailedPrecondition, codes.NotFound, codes.AlreadyExists, codes.OutOfRange,
		codes.PermissionDenied, codes.Unauthenticated, codes.Unimplemented, codes.DataLoss:
		return true
	}
	return tooLarge(err) || errors.As(err, new(panicked))
}

// unavailable says that the connection, or the server behind it, is gone.
func unavailable(err error) bool { return status.Code(err) == codes.Unavailable }

// answered says that an error came from a server that is there.
func answered(err error) bool {
	return err == nil || definite(err) && !errors.As(err, new(panicked))
}

// gaveUp is the error of a call whose context ended: beside the context's own
// it is ErrUnavailable where the time ran out, and names what went wrong last.
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

// translate names what was tried, and turns what the server decided into the
// port's errors; the client's own are not passed on.
func translate(what string, err error) error {
	switch {
	case errors.Is(err, ErrClosed):
		return fmt.Errorf("%s: %w", what, ErrClosed)
	case errors.Is(err, eventstore.ErrUnavailable), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err // of gaveUp: it names what was tried
	case code(err) == es.ErrorCodeStreamDeleted:
		return fmt.Errorf("%s: %w", what, eventstore.ErrStreamDeleted)
	case tooLarge(err):
		return fmt.Errorf("%s: %w", what, eventstore.ErrTooLarge)
	}
	return fmt.Errorf("%s: %s", what, describe(err))
}

// describe puts an error into one line: of one that came over the wire what
// the server said, without the client's wording around it.
func describe(err error) string {
	text := err.Error()
	var wire interface{ GRPCStatus() *status.Status }
	if errors.As(err, &wire) {
		text = fmt.Sprintf("%s: %s", wire.GRPCStatus().Code(), wire.GRPCStatus().Message())
	}
	return strings.Join(strings.Fields(text), " ")
}

// got is how the client words the revision that a stream is at.
var got = regexp.MustCompile(`but got '(no_stream|\d+)'`)

// currentRevision reads what the client's wrong version error says of the
// stream; false where it says nothing.
func currentRevision(err error) (eventstore.Expected, bool) {
	match := got.FindStringSubmatch(err.Error())
	if match == nil {
		return 0, false
	}
	if match[1] == "no_stream" {
		return eventstore.NoStream, true
	}
	n, err := strconv.ParseInt(match[1], 10, 64)
	return eventstore.Expected(n), err == nil
}

// tooLarge says that the server refused an append for its size.
func tooLarge(err error) bool {
	switch status.Code(err) {
	case codes.ResourceExhausted:
		return strings.Contains(err.Error(), "larger than max")
	case codes.InvalidArgument:
		return strings.Contains(strings.ToLower(err.Error()), "maximum append size")
	}
	return false
}

// panicked is a panic of the client, which it answers what it does not expect
// with.
type panicked struct{ value any }

func (p panicked) Error() string { return fmt.Sprintf("the client panicked: %v", p.value) }
