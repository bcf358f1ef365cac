package node

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
)

// Limits that clients see.
const (
	// MaxAppend is how many bytes one call may append: data and metadata once,
	// and types twice.
	maxAppend = 1 << 20

	// MaxMessage is the largest message of the services other than Streams, in
	// bytes.
	maxMessage = 4 << 20
)

// refusal is an error as clients are told it: a status, and trailers that say
// what the matter is.
type refusal struct {
	code     codes.Code
	message  string
	trailers metadata.MD
}

func (r *refusal) Error() string { return r.message }

func invalid(format string, args ...any) error {
	return &refusal{code: codes.InvalidArgument, message: fmt.Sprintf(format, args...)}
}

func refuseDeleted(stream string) error {
	return &refusal{codes.FailedPrecondition, fmt.Sprintf("Event stream '%s' is deleted.", stream),
		exception("stream-deleted", "stream-name", stream)}
}

func refuseVersion(operation, stream string, expected, actual int64) error {
	message := fmt.Sprintf("%s failed due to WrongExpectedVersion. Stream: %s, Expected version: %d, Actual version: %d", operation, stream, expected, actual)
	return &refusal{codes.FailedPrecondition, message, exception("wrong-expected-version",
		"stream-name", stream, "expected-version", strconv.FormatInt(expected, 10), "actual-version", strconv.FormatInt(actual, 10))}
}

func refuseSize() error {
	return &refusal{codes.InvalidArgument, fmt.Sprintf("Maximum Append Size of %d Exceeded.", maxAppend),
		exception("maximum-append-size-exceeded", "maximum-append-size", strconv.Itoa(maxAppend))}
}

func refuseMissingMetadata() error {
	return &refusal{codes.InvalidArgument, "Required Metadata Property missing: type and content-type are required.",
		exception("missing-required-metadata-property", "required-metadata-properties", metaType+","+metaContentType)}
}

func refuseAccess() error {
	return &refusal{codes.PermissionDenied, "Access Denied", exception("access-denied")}
}

func exception(name string, pairs ...string) metadata.MD {
	md := metadata.Pairs("exception", name)
	for i := 0; i < len(pairs); i += 2 {
		md.Set(pairs[i], printable(pairs[i+1]))
	}
	return md
}

// printable escapes what a trailer cannot carry, byte by byte as %XX.
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

// answerError turns any error into what a client is told; set receives its
// trailers. What is not a refusal is the node's own trouble.
func answerError(logger *slog.Logger, err error, set func(metadata.MD)) error {
	var r *refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &r):
		if r.trailers != nil {
			set(r.trailers)
		}
		return status.Error(r.code, r.message)
	case errors.Is(err, errClosed), errors.Is(err, errFailed):
		return status.Error(codes.Unavailable, err.Error())
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return status.FromContextError(err).Err()
	}
	if s, ok := status.FromError(err); ok { // gRPC's own, of a broken line
		return s.Err()
	}
	logger.Error("read the log", "error", err)
	if isDamage(err) {
		return status.Error(codes.DataLoss, oneLine(err))
	}
	return status.Error(codes.Internal, "the log cannot be read")
}

// answerUnary is answerError for a call with one answer.
func answerUnary(ctx context.Context, logger *slog.Logger, err error) error {
	return answerError(logger, err, func(md metadata.MD) { _ = grpc.SetTrailer(ctx, md) })
}
