package arena_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/arena"
)

// The variable stored lists every event with the name and the JSON that the log stores.
// These names and this JSON must never change.
var stored = []struct {
	decode func(string, []byte) (arena.Event, error)
	event  arena.Event
	name   string
	data   string
}{
	{arena.DecodeKeys, published, "PlatformKeyPublished", `{"publicKey":"AQIDAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}`},
	{arena.DecodeKeys, arena.EmailKeyAdded{Hash: arena.Hash{1}}, "EmailKeyAdded", `{"hash":"01` + zeros + `"}`},
	{arena.DecodeKeys, arena.SeedKeyAdded{ID: "a", Hash: arena.Hash{0xab}}, "SeedKeyAdded", `{"id":"a","hash":"ab` + zeros + `"}`},
	{arena.DecodeKeys, arena.SeedKeyRetired{ID: "a"}, "SeedKeyRetired", `{"id":"a"}`},
	{arena.DecodeKeys, arena.SeedKeyRetired{ID: "a", Reason: "once a year"}, "SeedKeyRetired", `{"id":"a","reason":"once a year"}`},
	{arena.DecodeKeys, arena.SeedKeyPublished{ID: "a", Key: arena.RevealedKey{9}}, "SeedKeyPublished", `{"id":"a","key":"09` + zeros + `"}`},
	{arena.DecodeSealedKeys, arena.SeedKeysSealed{Keys: []arena.SealedKey{{ID: "a", Sealed: []byte{1, 2, 255}}}}, "SeedKeysSealed", `{"keys":[{"id":"a","sealed":"AQL/"}]}`},
	{arena.DecodePlayer, arena.PlayerClaimed{Holder: "x", Generation: 2, Host: "red"}, "PlayerClaimed", `{"holder":"x","generation":2,"host":"red"}`},
	{arena.DecodePlayer, arena.PlayerRenewed{Holder: "x", Generation: 2, Host: "red"}, "PlayerRenewed", `{"holder":"x","generation":2,"host":"red"}`},
	{arena.DecodePlayer, arena.PlayerReleased{Holder: "x", Generation: 2, Host: "red"}, "PlayerReleased", `{"holder":"x","generation":2,"host":"red"}`},
	{arena.DecodeMember, arena.MemberSeen{Member: "x", Start: "s", Host: "red", MaxMatches: 9, Running: 2, SeedKeys: []string{"k"}}, "MemberSeen", `{"member":"x","start":"s","host":"red","maxMatches":9,"running":2,"seedKeys":["k"]}`},
	{arena.DecodeMember, arena.MemberLeft{Member: "x", Start: "s"}, "MemberLeft", `{"member":"x","start":"s"}`},
	{arena.DecodeAssignments, arena.MatchesAssigned{Generation: 2, Shares: []arena.Share{{Member: "x", Matches: []string{"m"}}}}, "MatchesAssigned", `{"generation":2,"shares":[{"member":"x","matches":["m"]}]}`},
	{arena.DecodeOperations, arena.DrainStarted{Reason: "why"}, "DrainStarted", `{"reason":"why"}`},
	{arena.DecodeOperations, arena.DrainEnded{Reason: "why"}, "DrainEnded", `{"reason":"why"}`},
}

var zeros = strings.Repeat("00", 31)

func TestStoredShapes(t *testing.T) {
	for _, s := range stored {
		t.Run(s.name, func(t *testing.T) {
			require.Equal(t, s.name, s.event.EventType())
			data, err := json.Marshal(s.event)
			require.NoError(t, err)
			require.Equal(t, s.data, string(data))
			back, err := s.decode(s.name, data)
			require.NoError(t, err)
			require.Equal(t, s.event, back)
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	tests := map[string]struct {
		decode     func(string, []byte) (arena.Event, error)
		name, data string
	}{
		"an unknown type":               {arena.DecodeKeys, "KeyLost", `{}`},
		"a player's event as a key's":   {arena.DecodeKeys, "PlayerClaimed", `{}`},
		"a key's event as a player's":   {arena.DecodePlayer, "SeedKeyAdded", `{}`},
		"a key's event as an order":     {arena.DecodeOperations, "SeedKeyAdded", `{}`},
		"a player's event as a member":  {arena.DecodeMember, "PlayerClaimed", `{}`},
		"a heartbeat as an assignment":  {arena.DecodeAssignments, "MemberSeen", `{}`},
		"invalid JSON":                  {arena.DecodePlayer, "PlayerClaimed", `{`},
		"a short hash":                  {arena.DecodeKeys, "EmailKeyAdded", `{"hash":"01"}`},
		"a hash in capitals":            {arena.DecodeKeys, "EmailKeyAdded", `{"hash":"AB` + zeros + `"}`},
		"a short public key":            {arena.DecodeKeys, "PlatformKeyPublished", `{"publicKey":"AQID"}`},
		"a public key in URL encoding":  {arena.DecodeKeys, "PlatformKeyPublished", `{"publicKey":"_QIDAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}`},
		"a revealed key not in hex":     {arena.DecodeKeys, "SeedKeyPublished", `{"id":"a","key":"zz` + zeros + `"}`},
		"a key's event as a sealed key": {arena.DecodeSealedKeys, "SeedKeyAdded", `{}`},
		"a sealed key not in base64":    {arena.DecodeSealedKeys, "SeedKeysSealed", `{"keys":[{"id":"a","sealed":"a-"}]}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := tt.decode(tt.name, []byte(tt.data))
			require.Error(t, err)
		})
	}
}

// FuzzDecode checks that every event that can be decoded survives a round trip through
// JSON.
func FuzzDecode(f *testing.F) {
	for _, s := range stored {
		f.Add(s.name, []byte(s.data))
	}
	f.Add("PlatformKeyPublished", []byte(`{"publicKey":null}`))
	f.Add("Unheard", []byte(`[]`))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		for _, decode := range []func(string, []byte) (arena.Event, error){arena.DecodeKeys, arena.DecodeSealedKeys, arena.DecodePlayer, arena.DecodeOperations} {
			e, err := decode(name, data)
			if err != nil {
				continue
			}
			require.Equal(t, name, e.EventType())
			written, err := json.Marshal(e)
			require.NoError(t, err)
			back, err := decode(name, written)
			require.NoError(t, err)
			require.Equal(t, e, back)
		}
	})
}
