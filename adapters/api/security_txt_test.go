package api_test

import (
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/api"
)

func TestSecurityTxtNamesTheContact(t *testing.T) {
	for name, test := range map[string]struct{ setting, want string }{
		"the default":  {"", "mailto:security@arena.example"},
		"an https URI": {"https://arena.example/report", "https://arena.example/report"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newArena(t, func(o *api.Options) { o.SecurityContact = test.setting })
			answer := a.anyone().do(http.MethodGet, "/.well-known/security.txt", nil).is(http.StatusOK)
			require.Equal(t, "text/plain; charset=utf-8", answer.header.Get("Content-Type"))
			found := regexp.MustCompile(`^Contact: (\S+)
Expires: (\S+)
Preferred-Languages: en
Canonical: https://arena\.example/\.well-known/security\.txt
Policy: https://arena\.example/docs/security
$`).FindSubmatch(answer.body)
			require.NotNil(t, found, "%s", answer.body)
			require.Equal(t, test.want, string(found[1]))
			expires, err := time.Parse(time.RFC3339, string(found[2]))
			require.NoError(t, err)
			left := expires.Sub(a.now)
			require.Greater(t, left, 300*24*time.Hour)
			require.LessOrEqual(t, left, 365*24*time.Hour)
		})
	}
}
