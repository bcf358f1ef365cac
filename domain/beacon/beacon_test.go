package beacon_test

import (
	"encoding/hex"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/beacon"
)

// Quicknet's hash is the one that drand computes from the chain's other fields.
func TestQuicknetIsConsistent(t *testing.T) {
	text, err := json.Marshal(beacon.Quicknet().Info())
	require.NoError(t, err)
	c, err := beacon.ParseInfo(text)
	require.NoError(t, err)
	require.Equal(t, beacon.Quicknet(), c)
}

func TestParseInfoRefusesOtherChains(t *testing.T) {
	for name, change := range map[string]func(*beacon.Info){
		"another scheme":   func(i *beacon.Info) { i.SchemeID = "pedersen-bls-chained" },
		"another period":   func(i *beacon.Info) { i.Period = 30 },
		"no period":        func(i *beacon.Info) { i.Period = 0 },
		"another genesis":  func(i *beacon.Info) { i.GenesisTime++ },
		"a short key":      func(i *beacon.Info) { i.PublicKey = i.PublicKey[2:] },
		"another key":      func(i *beacon.Info) { i.PublicKey = "93" + i.PublicKey[2:] },
		"a key not in hex": func(i *beacon.Info) { i.PublicKey = "xx" + i.PublicKey[2:] },
		"another name":     func(i *beacon.Info) { i.Metadata.BeaconID = "slownet" },
	} {
		t.Run(name, func(t *testing.T) {
			i := beacon.Quicknet().Info()
			change(&i)
			text, err := json.Marshal(i)
			require.NoError(t, err)
			_, err = beacon.ParseInfo(text)
			require.ErrorContains(t, err, "not a drand chain that the arena can use")
		})
	}
}

func TestRoundTimes(t *testing.T) {
	c := beacon.Quicknet()
	require.Equal(t, c.Genesis, c.Time(1))
	require.Equal(t, c.Genesis.Add(3*time.Second), c.Time(2))
	require.Zero(t, c.Newest(c.Genesis.Add(-time.Nanosecond)))
	for after, want := range map[time.Duration]struct{ newest, named uint64 }{
		0:                              {1, 3},
		time.Millisecond:               {1, 4},
		3*time.Second - 1:              {1, 4},
		3 * time.Second:                {2, 4},
		3*time.Second + 1:              {2, 5},
		30*time.Second + time.Second/2: {11, 14},
	} {
		at := c.Genesis.Add(after)
		require.Equal(t, want.newest, c.Newest(at), after)
		require.Equal(t, want.named, c.After(at), after)
		require.False(t, c.Time(c.After(at)).Before(at.Add(2*c.Period)), after)
	}
	require.EqualValues(t, 1, c.After(c.Genesis.Add(-time.Hour)))
}

// Round 1000 of quicknet, as drand published it.
func TestRoundsDecode(t *testing.T) {
	const signature = "b44679b9a59af2ec876b1a6b1ad52ea9b1615fc3982b19576350f93447cb1125e342b73a8dd2bacbe47e4b6b63ed5e39"
	raw, err := hex.DecodeString(signature)
	require.NoError(t, err)
	r := beacon.NewRound(beacon.Named{Chain: beacon.Quicknet().Hash, Round: 1000}, raw)
	require.Equal(t, "fe290beca10872ef2fb164d2aa4442de4566183ec51c56ff3cd603d930e54fdd", r.Randomness)
	require.Equal(t, signature, r.Signature)
	got, randomness, err := r.Decode()
	require.NoError(t, err)
	require.Equal(t, raw, got)
	require.Equal(t, r.Randomness, hex.EncodeToString(randomness[:]))

	for name, change := range map[string]func(*beacon.Round){
		"other randomness":     func(r *beacon.Round) { r.Randomness = "00" + r.Randomness[2:] },
		"a short signature":    func(r *beacon.Round) { r.Signature = r.Signature[2:] },
		"upper-case signature": func(r *beacon.Round) { r.Signature = "B" + r.Signature[1:] },
	} {
		bad := r
		change(&bad)
		_, _, err := bad.Decode()
		require.Error(t, err, name)
	}
}
