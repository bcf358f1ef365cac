package audit_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/audit"
	"hexarena/domain/audit/sample"
	"hexarena/domain/seed"
)

// The audit either accepts an owner's notes, or reports where the record differs from
// them.
func TestNotes(t *testing.T) {
	record := sample.New(sample.Options{Chance: 2, Bots: 4}).Tick()[0]
	f := open(t, record)
	id, bot, nonce, commitment := f.object["id"], f.proof()["table"].([]any)[2], f.nonces()[2], f.object["commitment"]
	note := func(format string, args ...any) string {
		return fmt.Sprintf(`{"match":%q,"bot":%q,`, id, bot) + fmt.Sprintf(format, args...) + "}\n"
	}
	for name, c := range map[string]struct{ notes, check, says string }{
		"as it was":              {note(`"nonce":%q,"commitment":%q`, nonce, commitment), "", ""},
		"only a nonce":           {note(`"nonce":%q`, nonce), "", ""},
		"of another match":       {`{"match":"x","bot":"y","nonce":"z"}`, "", "nothing about this match"},
		"another nonce":          {note(`"nonce":"mine"`), audit.CheckNonces, `"mine"`},
		"another commitment":     {note(`"commitment":%q`, seed.Seed{1}), audit.CheckNonces, "was shown"},
		"the log index":          {note(`"index":0`), "", ""},
		"another log index":      {note(`"index":7`), audit.CheckNonces, "was shown the log index 0"},
		"a round":                {note(`"round":7`), audit.CheckNonces, "was shown no round"},
		"a bot not at the table": {fmt.Sprintf(`{"match":%q,"bot":"b","nonce":""}`, id), audit.CheckNonces, "a table without bot b"},
	} {
		t.Run(name, func(t *testing.T) {
			notes, err := audit.ParseNotes([]byte(c.notes))
			require.NoError(t, err)
			r := verify(t, record, audit.Evidence{Notes: notes})
			if c.check != "" {
				require.NotNil(t, r.Difference)
				require.Equal(t, c.check, r.Difference.Check)
				require.ErrorContains(t, r.Difference, c.says)
				return
			}
			require.Nil(t, r.Difference)
			for _, one := range r.Checks {
				if one.Name == audit.CheckNonces {
					require.Equal(t, c.says == "", one.Made)
					require.Contains(t, one.Because, c.says)
				}
			}
		})
	}
}

func TestNotesAreReadStrictly(t *testing.T) {
	for _, text := range []string{
		`{`, `[]`, `{}`, `{"match":"m","bot":"b"}`, `{"match":"m","nonce":"n"}`, `{"match":"m","bot":"b","nonce":"n","more":1}`,
		`{"match":"m","bot":"b","commitment":"00"}`, `{"match":"m","match":"m","bot":"b","nonce":"n"}`, `{"match":"m","bot":"b","nonce":null}`,
		`{"match":"m","bot":"b","at":"2026-09-06T12:00:00Z"}`, `{"match":"m","bot":"b","round":-1}`, `{"match":"m","bot":"b","round":1,"at":"noon"}`,
	} {
		_, err := audit.ParseNotes([]byte("\n" + text))
		require.ErrorContains(t, err, "line 2", text)
	}
	notes, err := audit.ParseNotes(nil)
	require.NoError(t, err)
	require.NotNil(t, notes, "an empty file has no notes, but it is valid")
}
