package botwire

import (
	"crypto/ed25519"
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"hexarena/domain/match"
)

// These are the headers of the upgrade (docs/protocol.md, "The upgrade").
const (
	headerMatch       = "x-arena-match"
	headerTimestamp   = "x-arena-timestamp"
	headerSignature   = "x-arena-signature"
	headerRecipient   = "x-arena-recipient"
	headerSignatureV2 = "x-arena-signature-v2"
	headerCommitment  = "x-arena-commitment"
	headerRound       = "x-arena-beacon-round"
	headerLogIndex    = "x-arena-log-index"
	headerNonce       = "x-arena-nonce"
	headerVersion     = "x-arena-version"
)

// signedHeaders lists the headers that the second signature covers, in the order
// of their lines in the signed text.
var signedHeaders = []string{headerTimestamp, headerMatch, headerRecipient, headerCommitment, headerRound, headerLogIndex}

// deployCheck replaces the match id in the upgrade of a deploy check.
const deployCheck = "deploy-check"

// Upgrade contains what the upgrade request tells one bot: the bot's own id, and facts
// about the match that the bot's owner can record before the match starts. In a deploy
// check, only the bot's id is set, and the request has none of the other headers.
type Upgrade struct {
	BotID       string
	Commitment  string // 64 hex digits
	BeaconRound uint64 // the beacon round that the seed uses; 0 without a beacon
	LogIndex    uint64 // the index of the seating in the ladder's signed tree
}

// The method signed() returns the headers of an upgrade request to a URL for a match.
func (d *Dialer) signed(to *url.URL, matchID string, u Upgrade) http.Header {
	timestamp := strconv.FormatInt(d.options.Now().UnixMilli(), 10)
	h := http.Header{}
	h.Set("User-Agent", userAgent)
	h.Set(headerMatch, matchID)
	h.Set(headerTimestamp, timestamp)
	h.Set(headerRecipient, recipient(u.BotID, to))
	if u.Commitment != "" {
		h.Set(headerCommitment, u.Commitment)
		h.Set(headerLogIndex, strconv.FormatUint(u.LogIndex, 10))
	}
	if u.BeaconRound != 0 {
		h.Set(headerRound, strconv.FormatUint(u.BeaconRound, 10))
	}
	h.Set(headerSignature, d.sign(timestamp+"."+matchID))
	h.Set(headerSignatureV2, d.sign(textV2(h)))
	return h
}

// recipient returns the recipient of an upgrade: a bot and the host of its URL. The
// host is in lower case. It is followed by the port unless that is the standard port of
// the scheme.
func recipient(botID string, u *url.URL) string {
	host := strings.ToLower(u.Hostname())
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port, _ := portOf(u); port != standardPort(u.Scheme) { // Allowed has checked the port
		host += ":" + strconv.Itoa(int(port))
	}
	return botID + "@" + host
}

// textV2 returns the text that the second signature covers. An absent header becomes an
// empty line. No value contains a line break, so two requests with the same text have
// the same values.
func textV2(h http.Header) string {
	lines := []string{headerSignatureV2}
	for _, name := range signedHeaders {
		lines = append(lines, h.Get(name))
	}
	return strings.Join(lines, "\n")
}

func (d *Dialer) sign(text string) string {
	return base64.StdEncoding.EncodeToString(ed25519.Sign(d.options.Key, []byte(text)))
}

// nonceOf returns the nonce in the response to an upgrade: 1 to 64 characters in the
// range 0x21–0x7E, in a header that is present exactly once. Otherwise, it returns the
// empty string.
func nonceOf(h http.Header) string {
	given := h.Values(headerNonce)
	invalid := func(r rune) bool { return r < 0x21 || r > 0x7E }
	if len(given) != 1 || len(given[0]) > 64 || strings.ContainsFunc(given[0], invalid) {
		return ""
	}
	return given[0]
}

// Accepted contains what a bot's response to an upgrade says about the bot.
type Accepted struct {
	Nonce   string // empty if the bot did not send a valid nonce
	Version string // of the bot's program; empty if the bot did not name a valid version
}

func acceptedBy(h http.Header) Accepted {
	version, _ := versionOf(h)
	return Accepted{Nonce: nonceOf(h), Version: version}
}

// versionOf returns the version in the response to an upgrade: 1 to 40 characters in
// the range 0x20–0x7E, in a header that is present exactly once. Otherwise, it returns
// the empty string. valid is false if the header is present but not valid.
func versionOf(h http.Header) (version string, valid bool) {
	given := h.Values(headerVersion)
	if len(given) == 0 {
		return "", true
	}
	if len(given) != 1 || !match.ValidVersion(given[0]) {
		return "", false
	}
	return given[0], true
}

// isValidUpgrade reports whether a 101 response has exactly one accept key, and
// no subprotocol or extension. The arena offers no subprotocols or extensions.
// The library checks the key.
func isValidUpgrade(h http.Header) bool {
	return len(h.Values("Sec-WebSocket-Accept")) == 1 &&
		len(h.Values("Sec-WebSocket-Protocol")) == 0 &&
		len(h.Values("Sec-WebSocket-Extensions")) == 0
}
