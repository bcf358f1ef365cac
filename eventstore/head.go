package eventstore

import "context"

// Head returns the position of the log's last event, or 0 if the log is empty.
func Head(ctx context.Context, log Log) (Position, error) {
	for r, err := range log.ReadAll(ctx, EndPosition, ReadOptions{Direction: Backwards, Limit: 1}) {
		if err != nil {
			return 0, err
		}
		return r.Position, nil
	}
	return 0, ctx.Err()
}
