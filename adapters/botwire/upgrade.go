package botwire

import (
	"crypto/ed25519"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
)

// Headers of the upgrade (docs/protocol.md, "The upgrade").
const (
	headerMatch      = "x-arena-match"
	headerTimestamp  = "x-arena-timestamp"
	headerSignature  = "x-arena-signature"
	headerCommitment = "x-arena-commitment"
	headerRound      = "x-arena-beacon-round"
	headerLogIndex   = "x-arena-log-index"
	headerNonce      = "x-arena-nonce"
)

// deployCheck replaces the match id in the upgrade of a deploy check.
const deployCheck = "deploy-check"

// Seating contains the facts about a match that the upgrade gives the bot, so
// that its owner can note them before the match starts. The zero value is for a
// deploy check, whose upgrade has none of these headers.
type Seating struct {
	Commitment  string // 64 hex digits
	BeaconRound uint64 // the round that the seed uses; 0 without a beacon
	LogIndex    uint64 // of the seating in the ladder's signed tree
}

// signed returns the headers of an upgrade for a match.
func (d *Dialer) signed(matchID string, s Seating) http.Header {
	timestamp := strconv.FormatInt(d.options.Now().UnixMilli(), 10)
	signature := ed25519.Sign(d.options.Key, []byte(timestamp+"."+matchID))
	h := http.Header{}
	h.Set("User-Agent", userAgent)
	h.Set(headerMatch, matchID)
	h.Set(headerTimestamp, timestamp)
	h.Set(headerSignature, base64.StdEncoding.EncodeToString(signature))
	if s.Commitment == "" {
		return h
	}
	h.Set(headerCommitment, s.Commitment)
	h.Set(headerLogIndex, strconv.FormatUint(s.LogIndex, 10))
	if s.BeaconRound != 0 {
		h.Set(headerRound, strconv.FormatUint(s.BeaconRound, 10))
	}
	return h
}

// nonceOf returns the nonce in the response to an upgrade: 1 to 64 characters of
// 0x21–0x7E, present once. Otherwise it returns the empty string.
func nonceOf(h http.Header) string {
	given := h.Values(headerNonce)
	invalid := func(r rune) bool { return r < 0x21 || r > 0x7E }
	if len(given) != 1 || len(given[0]) > 64 || strings.ContainsFunc(given[0], invalid) {
		return ""
	}
	return given[0]
}

// isValidUpgrade reports whether a 101 response has exactly one accept key, and
// no subprotocol or extension. The arena offers no subprotocols or extensions.
// The library checks the key.
func isValidUpgrade(h http.Header) bool {
	return len(h.Values("Sec-WebSocket-Accept")) == 1 &&
		len(h.Values("Sec-WebSocket-Protocol")) == 0 &&
		len(h.Values("Sec-WebSocket-Extensions")) == 0
}
