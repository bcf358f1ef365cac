package eventstore_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
)

func TestEncode(t *testing.T) {
	played := int64(1500)
	e, err := eventstore.Encode(paidIn{5}, eventstore.Metadata{At: noon, PlayedMs: &played, Correlation: "m", Causation: "c"})
	require.NoError(t, err)
	require.NotEqual(t, uuid.Nil, e.ID)
	require.Equal(t, "PaidIn", e.Type)
	require.Equal(t, `{"amount":5}`, string(e.Data))
	require.Equal(t, `{"schema":1,"at":"2030-01-02T11:00:00.123Z","playedMs":1500,"$correlationId":"m","$causationId":"c"}`, string(e.Metadata))

	m, err := eventstore.DecodeMetadata(eventstore.Recorded{Event: e})
	require.NoError(t, err)
	require.Equal(t, eventstore.Metadata{Schema: 1, At: noon.UTC().Truncate(time.Millisecond), PlayedMs: &played, Correlation: "m", Causation: "c"}, m)
}

func TestEncodeAllGivesEachEventAnID(t *testing.T) {
	encoded, err := eventstore.EncodeAll([]event{paidIn{1}, paidIn{1}}, meta())
	require.NoError(t, err)
	require.NotEqual(t, encoded[0].ID, encoded[1].ID)
}

type unencodable struct{ F func() }

func (unencodable) EventType() string { return "Unencodable" }

func TestEncodeErrorNamesTheType(t *testing.T) {
	_, err := eventstore.EncodeAll([]eventstore.Typed{unencodable{}}, meta())
	require.ErrorContains(t, err, "Unencodable")
}

func FuzzDecodeMetadata(f *testing.F) {
	f.Add([]byte(`{"schema":1,"at":"2030-01-02T11:00:00.123Z","$correlationId":"m"}`))
	f.Add([]byte(`{"schema":2}`))
	f.Add([]byte(`{"schema":1,"at":"x"}`))
	f.Add([]byte(``))
	f.Add([]byte(`null`))
	f.Add([]byte(`{"schema":1,"at":"2030-01-02T11:00:00Z","playedMs":0,"usedMs":[1,20,300,4000],"redialMs":[0,5],"failedDials":[1,2,3],"$correlationId":"m","$causationId":"c"}`))
	f.Add([]byte(`{"schema":1,"at":"2030-01-02T11:00:00Z","playedMs":01,"$correlationId":"a\\u0062 é"}`))
	f.Add([]byte(`{"schema":1,"at":"2030-01-02T11:00:00Z","usedMs":[],"$correlationId":""} `))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := eventstore.DecodeMetadata(eventstore.Recorded{Event: eventstore.Event{Metadata: data}})
		var want eventstore.Metadata
		if json.Unmarshal(data, &want) == nil && want.Schema == eventstore.SchemaVersion {
			require.NoError(t, err)
			require.Equal(t, want, m)
		}
		if err != nil {
			return
		}
		require.Equal(t, eventstore.SchemaVersion, m.Schema)
		again, err := json.Marshal(m)
		require.NoError(t, err)
		same, err := eventstore.DecodeMetadata(eventstore.Recorded{Event: eventstore.Event{Metadata: again}})
		require.NoError(t, err)
		require.True(t, m.At.Equal(same.At))
	})
}

func TestExpectedInErrors(t *testing.T) {
	require.Equal(t, "no stream", eventstore.NoStream.String())
	require.Equal(t, "any", eventstore.Any.String())
	require.Equal(t, "exists", eventstore.Exists.String())
	require.Equal(t, "7", eventstore.At(7).String())
	err := &eventstore.WrongVersionError{Stream: "s-1", Expected: eventstore.NoStream, Current: eventstore.At(3)}
	require.EqualError(t, err, "s-1: expected revision no stream, found 3")
}
