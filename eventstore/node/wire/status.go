package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"hexarena/eventstore/node/lifecycle"
	"hexarena/eventstore/node/storage"
)

// These are the limits that clients see.
const (
	// MaxAppend is the default limit on the data of one append, in bytes. Metadata and
	// types do not count.
	MaxAppend = 1 << 20

	// MaxMessage is the maximum size of a message to a service other than
	// Streams, in bytes.
	MaxMessage = 4 << 20
)

// Refusal is an error that the client caused, in the form that the client receives: a
// status, and trailers with the details.
type Refusal struct {
	Code     codes.Code
	Message  string
	trailers metadata.MD
}

func (r *Refusal) Error() string { return r.Message }

// IsTooLarge reports whether an append was rejected because it has too much data.
func (r *Refusal) IsTooLarge() bool { return r.trailers.Get("maximum-append-size") != nil }

// Refuse returns a Refusal whose trailers contain the name of an EventStoreDB exception
// and its details. The parameter details consists of alternating keys and values.
func Refuse(code codes.Code, message, exception string, details ...string) error {
	trailers := metadata.Pairs("exception", exception)
	for i := 0; i < len(details); i += 2 {
		trailers.Set(details[i], printable(details[i+1]))
	}
	return &Refusal{code, message, trailers}
}

// Invalid returns a Refusal for a malformed request.
func Invalid(format string, args ...any) error {
	return &Refusal{Code: codes.InvalidArgument, Message: fmt.Sprintf(format, args...)}
}

// RefuseQuota rejects a call because the client would exceed a quota.
func RefuseQuota(format string, args ...any) error {
	return &Refusal{Code: codes.ResourceExhausted, Message: fmt.Sprintf(format, args...)}
}

// RefuseDeleted rejects a call for a deleted stream.
func RefuseDeleted(stream string) error {
	return Refuse(codes.FailedPrecondition, fmt.Sprintf("Event stream '%s' is deleted.", stream),
		"stream-deleted", "stream-name", stream)
}

// RefuseVersion rejects an operation that expected a different revision.
func RefuseVersion(operation, stream string, expected, actual int64) error {
	message := fmt.Sprintf("%s failed due to WrongExpectedVersion. Stream: %s, Expected version: %d, Actual version: %d", operation, stream, expected, actual)
	return Refuse(codes.FailedPrecondition, message, "wrong-expected-version",
		"stream-name", stream, "expected-version", strconv.FormatInt(expected, 10), "actual-version", strconv.FormatInt(actual, 10))
}

// RefuseSize rejects an append with more bytes of data than the limit.
func RefuseSize(limit int) error {
	return Refuse(codes.InvalidArgument, fmt.Sprintf("Maximum Append Size of %d Exceeded.", limit),
		"maximum-append-size-exceeded", "maximum-append-size", strconv.Itoa(limit))
}

// RefuseMemory rejects an append that uses more memory than the limit, although its data
// is within the limit on data.
func RefuseMemory(size, limit int) error {
	return &Refusal{Code: codes.ResourceExhausted, Message: fmt.Sprintf("the append with its metadata is larger than max (%d vs. %d)", size, limit)}
}

// RefuseMissingMetadata rejects an event that lacks a type or a content type.
func RefuseMissingMetadata() error {
	return Refuse(codes.InvalidArgument, "Required Metadata Property missing: type and content-type are required.",
		"missing-required-metadata-property", "required-metadata-properties", MetaType+","+MetaContentType)
}

// RefuseAccess rejects a change to a stream that clients may not change.
func RefuseAccess() error { return Refuse(codes.PermissionDenied, "Access Denied", "access-denied") }

// printable replaces each byte that a trailer may not contain with %XX.
func printable(text string) string {
	if strings.IndexFunc(text, func(c rune) bool { return c < ' ' || c > '~' }) < 0 {
		return text
	}
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Status converts any error to the status that the client receives, and sets the call's
// trailers. It logs errors that the client did not cause.
func Status(ctx context.Context, logger *slog.Logger, err error) error {
	if err == nil {
		return nil
	}
	var r *Refusal
	switch {
	case errors.As(err, &r):
		if r.trailers != nil {
			_ = grpc.SetTrailer(ctx, r.trailers) // this fails only outside of a call
		}
		return status.Error(r.Code, r.Message)
	case errors.Is(err, lifecycle.ErrClosed), errors.Is(err, lifecycle.ErrFailed):
		return status.Error(codes.Unavailable, err.Error())
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return status.FromContextError(err).Err()
	}
	if s, ok := status.FromError(err); ok { // this is gRPC's own error for a broken connection
		return s.Err()
	}
	logger.Error("read the log", "error", err)
	if storage.IsDamage(err) {
		return status.Error(codes.DataLoss, storage.OneLine(err))
	}
	return status.Error(codes.Internal, "the log cannot be read")
}
