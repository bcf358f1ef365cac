package owner

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/eventstore/logtest"
)

const golden = "testdata/events.golden"

// The function samples() returns one event of each type, with every field set.
func samples() []Event {
	return []Event{
		SignedUp{OwnerID: "o1", AddressHash: "ab12"},
		HandleChosen{Handle: "ada"},
		SessionStarted{Session: "cd34", Until: noon.Add(SessionLength)},
		SessionEnded{Session: "cd34"},
		APIKeyRegistered{KeyID: "k1", Name: "laptop", PublicKey: publicKey(7), Scopes: DefaultScopes()},
		APIKeyUsed{KeyID: "k1"},
		APIKeyRevoked{KeyID: "k1"},
		BotRegistered{BotID: "b1", Name: "Ada's bot", Mode: ladder.Standard, URL: "https://bots.example/ada"},
		BotRenamed{BotID: "b1", Name: "Lovelace"},
		BotURLChanged{BotID: "b1", URL: "https://bots.example/lovelace"},
		BotPaused{BotID: "b1", By: ByMisses},
		BotUnpaused{BotID: "b1"},
		BotRemoved{BotID: "b1"},
		AddressSet{Address: "Ada@example.org"},
		SignInLinkIssued{Link: "ef56", Until: noon.Add(LinkLength)},
		SignInLinkUsed{Link: "ef56"},
		NameClaimed{OwnerID: "o1"},
		NameReleased{OwnerID: "o1"},
		BotPaused{BotID: "b1", By: ByOperator, Reason: "floods its neighbours"},
		BotUnpaused{BotID: "b1", By: ByOperator, Reason: "fixed"},
		Notified{BotID: "b1", About: AboutMisses},
		Suspended{Reason: "abuse"},
		Restored{Reason: "a mistake"},
		Deleted{},
		SignatureSpent{Signature: "0a1b"},
		APIKeyClaimed{OwnerID: "o1", KeyID: "k1"},
		APIKeyRevoked{KeyID: "k1", By: ByOtherAccount},
		Notified{KeyID: "k1", About: AboutMovedKey},
		SignInLinkUsed{Link: "ef56", Until: noon.Add(LinkLength)},
		TrialOrdered{BotID: "b1", TrialID: "t1"},
		TrialEnded{BotID: "b1", TrialID: "t1", Outcome: TrialCompleted},
		MailSwitched{About: AboutFailing},
		MailSwitched{About: AboutFailing, On: true},
		BotMailDecided{BotID: "b1", About: AboutUnreachable, Since: noon, Trouble: noon.Add(-time.Hour)},
		Notified{BotID: "b1", About: AboutUnreachable},
	}
}

// A stored shape never changes. If a line of the golden file changes, old logs can no
// longer be read.
func TestStoredShapes(t *testing.T) {
	var b bytes.Buffer
	for _, e := range samples() {
		data, err := json.Marshal(e)
		require.NoError(t, err)
		b.WriteString(e.EventType() + " " + string(data) + "\n")
	}
	logtest.RequireGolden(t, golden, b.Bytes())
}

func TestDecodeReadsStoredEvents(t *testing.T) {
	stored, err := os.ReadFile(golden)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(stored)), "\n")
	require.Len(t, lines, len(samples()))
	for i, want := range samples() {
		eventType, data, _ := strings.Cut(lines[i], " ")
		e, err := Decode(eventType, []byte(data))
		require.NoError(t, err)
		require.Equal(t, want, e)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, c := range map[string]struct{ eventType, data string }{
		"an unknown type":           {"OwnerPromoted", `{}`},
		"another case":              {"apiKeyUsed", `{}`},
		"invalid JSON":              {"BotRemoved", `{`},
		"a field of the wrong type": {"BotRemoved", `{"botId":7}`},
		"an invalid time":           {"SessionStarted", `{"until":"noon"}`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode(c.eventType, []byte(c.data))
			require.Error(t, err)
		})
	}
}

func FuzzDecode(f *testing.F) {
	for _, e := range samples() {
		data, err := json.Marshal(e)
		require.NoError(f, err)
		f.Add(e.EventType(), data)
	}
	f.Add("Unknown", []byte(`null`))
	f.Fuzz(func(t *testing.T, eventType string, data []byte) {
		e, err := Decode(eventType, data)
		if err != nil {
			return
		}
		require.Equal(t, eventType, e.EventType())
		Evolve(Account{}, e, noon)
		EvolveMailbox(Mailbox{}, e, noon)
		EvolveName(Name{}, e, noon)
		EvolvePublicKey(PublicKey{}, e, noon)
	})
}
