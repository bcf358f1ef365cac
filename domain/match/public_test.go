package match

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// A reader of a record gets the stored events back, except for what is not public.
func TestPublicEventsReadBackAsStoredEvents(t *testing.T) {
	kinds := map[string]bool{}
	for _, e := range examples {
		kind, seat, data := Publish(e)
		if kind == "" {
			continue
		}
		kinds[kind] = true
		text, err := json.Marshal(PublicEvent{Seq: 3, At: "2026-09-06T12:00:00.000Z", Kind: kind, Seat: seat, Data: data})
		require.NoError(t, err)
		var read PublicEvent
		require.NoError(t, json.Unmarshal(text, &read))
		var proof Proof
		switch want := e.(type) {
		case DecisionTimedOut:
			want.Heard = false
			e = want
		case GameEnded:
			proof = want.Proof
			want.Seed = SeedOf(proof.ServerSeed, proof.Nonces, nil)
			e = want
		}
		stored, err := read.Stored(proof)
		require.NoError(t, err)
		require.Equal(t, e, stored)
	}
	require.Len(t, kinds, len(PublicKinds))
}

func TestEventsWithoutDataOrWithUnknownKindsAreErrors(t *testing.T) {
	var e PublicEvent
	require.ErrorContains(t, json.Unmarshal([]byte(`{"seq":7,"kind":"dance","data":{}}`), &e), `event 7: the kind "dance" is unknown`)
	require.Error(t, json.Unmarshal([]byte(`{"seq":7,"kind":"roll","data":{"turn":"one"}}`), &e))
	require.NoError(t, json.Unmarshal([]byte(`{"seq":7,"kind":"roll","seat":1}`), &e), "frames of a running match")
	e.Data = nil
	_, err := e.Stored(Proof{})
	require.EqualError(t, err, "event 7 (roll) has no data")
}
