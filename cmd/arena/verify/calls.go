package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"hexarena/adapters/client"
	"hexarena/eventstore"
)

// The type calls makes anonymous calls to an arena.
type calls struct{ arena *client.Client }

// getJSON makes a call and decodes the response. found is false if the status is
// 404.
func (c calls) getJSON(ctx context.Context, path string, into any) (found bool, err error) {
	body, err := c.get(ctx, path)
	if err != nil || body == nil {
		return false, err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return true, fmt.Errorf("GET %s: this program cannot read the arena's response: %w", path, err)
	}
	return true, nil
}

// get makes a call and returns the response's body, or nil if the status is 404. If
// the status is 429, it waits and tries again.
func (c calls) get(ctx context.Context, path string) ([]byte, error) {
	for {
		a, err := c.arena.Call(ctx, http.MethodGet, path, nil)
		var refused *client.Refusal
		switch {
		case !errors.As(err, &refused):
			return a.Body, err
		case refused.Status == http.StatusNotFound:
			return nil, nil
		case refused.Status != http.StatusTooManyRequests:
			return nil, err
		}
		seconds, _ := strconv.Atoi(refused.RetryAfter) // if there is no value, wait 1 second
		if err := eventstore.Sleep(ctx, time.Duration(max(1, seconds))*time.Second); err != nil {
			return nil, err
		}
	}
}
