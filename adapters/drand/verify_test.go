package drand_test

import (
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/drand"
	"hexarena/adapters/drand/drandtest"
	"hexarena/domain/beacon"
)

// The function published() returns a round of quicknet. signature is in hex.
func published(t *testing.T, number uint64, signature string) beacon.Round {
	t.Helper()
	raw, err := hex.DecodeString(signature)
	require.NoError(t, err)
	return beacon.NewRound(beacon.Named{Chain: beacon.Quicknet().Hash, Round: number}, raw)
}

// These are the signatures of rounds 1000 and 1001 of quicknet, as drand published
// them.
const (
	signature1000 = "b44679b9a59af2ec876b1a6b1ad52ea9b1615fc3982b19576350f93447cb1125e342b73a8dd2bacbe47e4b6b63ed5e39"
	signature1001 = "b33bf3667cbd5a82de3a24b4e0e9fe5513cc1a0e840368c6e31f5fcfa79bea03f73896b25883abf2853d10337fb8fa41"
)

func TestPublishedRoundsVerify(t *testing.T) {
	for number, signature := range map[uint64]string{1000: signature1000, 1001: signature1001} {
		require.NoError(t, drand.Verify(beacon.Quicknet(), published(t, number, signature)), number)
	}
}

func TestChangedRoundsDoNotVerify(t *testing.T) {
	quicknet, other := beacon.Quicknet(), drandtest.New("other", time.Second)
	good := published(t, 1000, signature1000)
	for range 2 { // Verify remembers rounds
		require.NoError(t, drand.Verify(quicknet, good))
	}
	for name, bad := range map[string]beacon.Round{
		"the signature of the next round":  published(t, 1000, signature1001),
		"another number":                   published(t, 1002, signature1000),
		"one bit changed":                  published(t, 1000, signature1000[:95]+"8"),
		"a point that is not on the curve": published(t, 1000, "a0"+strings.Repeat("00", 46)+"07"),
		"the point at infinity":            published(t, 1000, "c0"+strings.Repeat("00", 47)),
		"another key":                      published(t, 1000, other.Round(1000).Signature),
		"other randomness":                 {Chain: good.Chain, Round: 1000, Signature: good.Signature, Randomness: published(t, 1001, signature1001).Randomness},
		"another chain":                    {Chain: other.Chain().Hash, Round: 1000, Signature: good.Signature, Randomness: good.Randomness},
	} {
		require.Error(t, drand.Verify(quicknet, bad), name)
	}
	require.ErrorIs(t, drand.Verify(quicknet, published(t, 1000, signature1001)), drand.ErrSignature)
	require.ErrorIs(t, drand.Verify(other.Chain(), good), drand.ErrChain)
	quicknet.PublicKey = quicknet.PublicKey[1:]
	require.ErrorContains(t, drand.Verify(quicknet, good), "not a compressed point")
}

// Only one encoding of a signature is accepted. Otherwise, anyone who forwards a round
// could choose among several values of its randomness.
func TestSignaturesHaveOneEncoding(t *testing.T) {
	raw, err := hex.DecodeString(signature1000)
	require.NoError(t, err)
	accepted := 0
	for flags := range 8 {
		changed := append([]byte{raw[0]&0x1f | byte(flags<<5)}, raw[1:]...)
		if drand.Verify(beacon.Quicknet(), published(t, 1000, hex.EncodeToString(changed))) == nil {
			accepted++
		}
	}
	require.Equal(t, 1, accepted)
}

func TestParseChain(t *testing.T) {
	quicknet, own := beacon.Quicknet(), drandtest.New("own", time.Second)
	c, err := drand.ParseChain("quicknet")
	require.NoError(t, err)
	require.Equal(t, quicknet, c)

	c, err = drand.ParseChain(strings.ToUpper(own.Flag()))
	require.NoError(t, err)
	require.Equal(t, beacon.Chain{Hash: own.Chain().Hash, PublicKey: own.Chain().PublicKey}, c)
	require.NoError(t, drand.Verify(c, own.Round(7)))

	for _, bad := range []string{
		"", "mainnet", quicknet.Hash, quicknet.Hash + ":", ":" + hex.EncodeToString(quicknet.PublicKey),
		own.Flag() + "00", own.Flag() + ":00", "zz" + own.Flag()[2:], own.Chain().Hash + ":" + strings.Repeat("00", beacon.KeySize),
	} {
		_, err := drand.ParseChain(bad)
		require.Error(t, err, bad)
	}
}
