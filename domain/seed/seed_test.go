package seed_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/board"
	"hexarena/domain/seed"
)

// An independent program computed the list vectors. That program was written from
// docs/audit.md alone.
var vectors = []struct {
	seed      string
	resources [board.Hexes]board.Resource
	tokens    []uint8 // on the non-desert hexes, in ascending order
	seats     []int
	deck      []uint8
	dice      []uint32
	steals    []uint32 // uniform(1), uniform(2), …
}{
	{
		seed:      strings.Repeat("00", 32),
		resources: [board.Hexes]board.Resource{4, 1, 5, 3, 2, 2, 4, 1, 4, 0, 1, 2, 3, 0, 2, 0, 3, 1, 3},
		tokens:    []uint8{6, 10, 11, 12, 11, 5, 6, 5, 8, 4, 3, 9, 4, 2, 3, 10, 9, 8},
		seats:     []int{2, 1, 3, 0},
		deck:      []uint8{4, 0, 2, 0, 0, 3, 0, 1, 0, 0, 1, 2, 0, 3, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 4},
		dice:      []uint32{6, 5, 3, 5, 4, 4, 4, 5, 2, 2, 4, 3, 1, 2, 5, 5, 6, 4, 1, 6},
		steals:    []uint32{0, 0, 0, 1, 1, 1, 6, 1, 3, 8, 6, 4, 9, 0},
	},
	{
		seed:      "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
		resources: [board.Hexes]board.Resource{0, 0, 2, 2, 4, 5, 4, 1, 3, 4, 3, 3, 3, 1, 2, 1, 2, 0, 1},
		tokens:    []uint8{6, 3, 11, 4, 11, 5, 6, 9, 8, 12, 9, 2, 3, 5, 4, 10, 8, 10},
		seats:     []int{3, 1, 2, 0},
		deck:      []uint8{4, 0, 0, 0, 0, 3, 1, 2, 0, 1, 0, 0, 0, 3, 0, 1, 0, 1, 0, 1, 0, 0, 4, 0, 2},
		dice:      []uint32{5, 5, 2, 6, 1, 4, 1, 1, 1, 2, 2, 6, 4, 4, 3, 3, 1, 5, 1, 1},
		steals:    []uint32{0, 0, 0, 1, 1, 5, 6, 4, 5, 9, 9, 5, 4, 2},
	},
}

func TestVectors(t *testing.T) {
	for _, v := range vectors {
		s, err := seed.Parse(v.seed)
		require.NoError(t, err)

		layout := s.Layout()
		require.Equal(t, v.resources, layout.Resources)
		var tokens []uint8
		for h, r := range layout.Resources {
			if r == board.Desert {
				require.Zero(t, layout.Tokens[h])
				require.Equal(t, uint8(h), layout.Desert())
				continue
			}
			tokens = append(tokens, layout.Tokens[h])
		}
		require.Equal(t, v.tokens, tokens)
		require.Equal(t, v.seats, s.Seating(4))

		deck := []uint8{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4}
		s.ShuffleDeck(deck)
		require.Equal(t, v.deck, deck)

		var dice, steals seed.Stream
		for _, want := range v.dice {
			require.Equal(t, want, 1+dice.Uniform(&s, seed.Dice, 6))
		}
		for i, want := range v.steals {
			require.Equal(t, want, steals.Uniform(&s, seed.Steal, uint32(i+1)))
		}
	}
}

// TestUniformRejects uses an n for which Uniform has to skip three out of ten draws.
func TestUniformRejects(t *testing.T) {
	s, err := seed.Parse(vectors[1].seed)
	require.NoError(t, err)
	var st seed.Stream
	for _, want := range []uint32{2497630410, 2841357114, 437292459, 2152208843, 2150501940, 2959393636, 1554042089, 475353404} {
		require.Equal(t, want, st.Uniform(&s, seed.Steal, 3_000_000_000))
	}
}

func TestACopiedStreamYieldsTheSameDraws(t *testing.T) {
	var s seed.Seed
	var st seed.Stream
	for range 11 {
		st.Uniform(&s, seed.Dice, 6)
	}
	fork := st
	for range 20 {
		require.Equal(t, st.Uniform(&s, seed.Dice, 6), fork.Uniform(&s, seed.Dice, 6))
	}
}

func TestServerCommitmentJoint(t *testing.T) {
	server := seed.Server([]byte("key"), "0b5c1c4e-0000-5000-8000-000000000000")
	require.Equal(t, "2583a8c03efab3e3cb1efd1d23b12d8e0d4bd23d61dbf24272a64e65c6b0caaa", server.String())
	require.Equal(t, "d3132dba966ae034fda9f18d10c9cc83e7026de7fef727f1729d3842d0fc73ed", seed.Commitment(server).String())
	require.Equal(t, "667bc86157da1534b2adfd418c1be4379dc6970112576c00390fc1270e2b6602",
		seed.Joint(server, []string{"abc", "", "xyz"}).String())
}

// The expected seed comes from a short Python program. The randomness is that of
// round 1000 of drand's quicknet.
func TestWithBeacon(t *testing.T) {
	server, err := seed.Parse("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")
	require.NoError(t, err)
	randomness, err := seed.Parse("fe290beca10872ef2fb164d2aa4442de4566183ec51c56ff3cd603d930e54fdd")
	require.NoError(t, err)
	require.Equal(t, "d4bfa8027b8493ec4b21e53764ecd9c6361c86f5409b257590680b065d5385ea", seed.WithBeacon(server, randomness).String())
}

func TestParse(t *testing.T) {
	for name, text := range map[string]string{
		"short":      strings.Repeat("0", 62),
		"odd":        strings.Repeat("0", 63),
		"long":       strings.Repeat("0", 66),
		"upper case": strings.Repeat("AB", 32),
		"not hex":    strings.Repeat("g", 64),
		"empty":      "",
	} {
		_, err := seed.Parse(text)
		require.Error(t, err, name)
	}
}

func TestJSON(t *testing.T) {
	s, err := seed.Parse(vectors[1].seed)
	require.NoError(t, err)
	text, err := json.Marshal(s)
	require.NoError(t, err)
	require.Equal(t, `"`+vectors[1].seed+`"`, string(text))
	var back seed.Seed
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, s, back)
	require.Error(t, json.Unmarshal([]byte(`7`), &back))
	require.Error(t, json.Unmarshal([]byte(`"00"`), &back))
}

func FuzzParse(f *testing.F) {
	for _, v := range vectors {
		f.Add(v.seed)
	}
	f.Add("xyz")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := seed.Parse(text); err == nil && s.String() != text {
			t.Fatalf("%q parsed to %v", text, s)
		}
	})
}
