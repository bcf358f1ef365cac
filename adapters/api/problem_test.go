package api

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

// The page that owners read lists each code that is answered, with its status
// and with what to do about it, and no other.
func TestEveryCodeIsOnThePage(t *testing.T) {
	answered := map[string]map[int]bool{}
	note := func(code string, status int) {
		if answered[code] == nil {
			answered[code] = map[int]bool{}
		}
		answered[code][status] = true
	}
	for _, row := range table {
		note(row.code, row.status)
	}
	for _, err := range []error{anInvalidField, aDeniedURL, aFailedCheck, aLimit, aConflict, errFault} {
		p := problemOf(err)
		note(p.Code, p.Status)
	}
	for _, code := range problemCodes() {
		require.Contains(t, answered, code)
	}
	require.Len(t, problemCodes(), len(answered))

	page, err := os.ReadFile("../../docs/errors.md")
	require.NoError(t, err)
	listed := map[string]map[int]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (\\d{3}) \\| `([a-z_]+)` \\| (.+?) \\| (.+?) \\|$").FindAllStringSubmatch(string(page), -1) {
		status, err := strconv.Atoi(row[1])
		require.NoError(t, err)
		if listed[row[2]] == nil {
			listed[row[2]] = map[int]bool{}
		}
		require.False(t, listed[row[2]][status], "%s is listed twice", row[2])
		listed[row[2]][status] = true
	}
	require.Equal(t, answered, listed)
}

// What is not in the table tells nothing of itself; what wraps an error is for
// the log alone.
func TestProblemOf(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		status int
		code   string
		detail string
	}{
		"a fault":            {fmt.Errorf("owner-1@2: secret"), 500, "internal", "internal error"},
		"wrapped":            {fmt.Errorf("owner-1@2: %w", owner.ErrKeyLimit), 409, "key_limit", owner.ErrKeyLimit.Error()},
		"the log is away":    {fmt.Errorf("read owner-1: %w", eventstore.ErrUnavailable), 503, "log_unavailable", "the log is unavailable"},
		"a model stopped":    {fmt.Errorf("matches: %w", projections.ErrStopped), 503, "out_of_date", "a read model has stopped"},
		"raced":              {fmt.Errorf("append: %w", aConflict), 503, "busy", "others write at the same time: try again"},
		"a suspended owner":  {owner.ErrOwnerSuspended, 403, "suspended", owner.ErrOwnerSuspended.Error()},
		"a suspended bot":    {owner.ErrBotSuspended, 409, "suspended", owner.ErrBotSuspended.Error()},
		"a limit":            {aLimit, 429, "rate_limited", "more than 600 calls within 60 s: try again in 12 s"},
		"a check":            {aFailedCheck, 422, "deploy_check_failed", "the bot did not pass the deploy check at the step ping: the connection was refused"},
		"a check of nothing": {&checkFailed{}, 422, "deploy_check_failed", "the deploy check did not run"},
		"a url":              {aDeniedURL, 422, "url_not_allowed", "url is refused: the address is not allowed"},
		"a field":            {anInvalidField, 422, "invalid", "name is missing"},
		"a detail":           {&detailed{errScope, "the key lacks the scope x"}, 403, "scope_missing", "the key lacks the scope x"},
	} {
		t.Run(name, func(t *testing.T) {
			p := problemOf(c.err)
			require.Equal(t, []any{c.status, c.code, c.detail}, []any{p.Status, p.Code, p.Detail})
			require.NotEmpty(t, http.StatusText(p.Status))
		})
	}
}
