package problem

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/projections"
)

// docs/errors.md lists exactly the codes and statuses that the API may return.
func TestErrorsPageListsEveryCode(t *testing.T) {
	answered := map[string]map[int]bool{}
	note := func(code string, status int) {
		if answered[code] == nil {
			answered[code] = map[int]bool{}
		}
		answered[code][status] = true
	}
	for _, row := range table {
		note(row.Code, row.Status)
	}
	for _, err := range []error{ExampleInvalidField, ExampleDeniedURL, ExampleFailedCheck, ExampleRateLimited, ExampleConflict, ErrUnknown} {
		p := Of(err)
		note(p.Code, p.Status)
	}
	for _, code := range Codes() {
		require.Contains(t, answered, code)
	}
	require.Len(t, Codes(), len(answered))

	page, err := os.ReadFile("../../../docs/errors.md")
	require.NoError(t, err)
	listed := map[string]map[int]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (\\d{3}) \\| `([a-z_]+)` \\| (.+?) \\| (.+?) \\|$").FindAllStringSubmatch(string(page), -1) {
		status, err := strconv.Atoi(row[1])
		require.NoError(t, err)
		if listed[row[2]] == nil {
			listed[row[2]] = map[int]bool{}
		}
		require.False(t, listed[row[2]][status], "%s is listed twice with one status", row[2])
		listed[row[2]][status] = true
	}
	require.Equal(t, answered, listed)
}

// A response contains neither the text of an unknown error nor the text that wraps a
// known error.
func TestOf(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		status int
		code   string
		detail string
	}{
		"an unknown error":      {fmt.Errorf("owner-1@2: secret"), 500, "internal", "internal error"},
		"a wrapped error":       {fmt.Errorf("owner-1@2: %w", owner.ErrKeyLimit), 409, "key_limit", owner.ErrKeyLimit.Error()},
		"an unavailable log":    {fmt.Errorf("read owner-1: %w", eventstore.ErrUnavailable), 503, "log_unavailable", "the log is unavailable"},
		"a model stopped":       {fmt.Errorf("matches: %w", projections.ErrStopped), 503, "out_of_date", "a read model has stopped"},
		"a conflict":            {fmt.Errorf("append: %w", ExampleConflict), 503, "busy", "too many writes at the same time: try again"},
		"a suspended owner":     {owner.ErrOwnerSuspended, 403, "suspended", owner.ErrOwnerSuspended.Error()},
		"a suspended bot":       {owner.ErrBotSuspended, 409, "suspended", owner.ErrBotSuspended.Error()},
		"a limit":               {ExampleRateLimited, 429, "rate_limited", "more than 600 calls within 60 s: try again in 12 s"},
		"a check":               {ExampleFailedCheck, 422, "deploy_check_failed", "the bot did not pass the deploy check at the step ping: the connection was refused"},
		"a check without steps": {&CheckFailed{}, 422, "deploy_check_failed", "the deploy check did not run"},
		"a url":                 {ExampleDeniedURL, 422, "url_not_allowed", "url is refused: the address is not allowed; use a public address that is not the arena's own"},
		"a field":               {ExampleInvalidField, 422, "invalid", "name is missing"},
		"a detail":              {WithDetail(ErrScopeMissing, "the key lacks the scope x"), 403, "scope_missing", "the key lacks the scope x"},
	} {
		t.Run(name, func(t *testing.T) {
			p := Of(c.err)
			require.Equal(t, []any{c.status, c.code, c.detail}, []any{p.Status, p.Code, p.Detail})
			require.NotEmpty(t, http.StatusText(p.Status))
		})
	}
}
