// Package witness asks witnesses to cosign the heads of the ladder trees (C2SP
// tlog-witness and tlog-cosignature). A witness is a service that somebody else runs.
// It remembers the newest head of each tree, and cosigns a new head only after it has
// checked a proof that the new tree continues the old one. So an arena cannot show
// different trees to different people if those people require cosignatures from a
// quorum of witnesses (docs/adr/0038-witnesses-cosign-ladder-heads.md).
//
// Read the flags with [ParseAll], create a [Client] with [New], and call
// [Client.Run]. [Client.Cosignatures] and [Client.Cosigned] return the
// cosignatures that the client has collected. The client keeps them only in memory.
//
// The package does not know how heads are built or signed, and nothing in the arena
// waits for a witness.
package witness

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"filippo.io/torchwood"
)

// Witness is a witness that the operator has configured.
type Witness struct {
	verifier *torchwood.CosignatureVerifier
	prefix   string // prefix of the URLs to which the client submits heads, without a trailing slash
}

// Name returns the name in the witness's key.
func (w Witness) Name() string { return w.verifier.Name() }

var errForm = errors.New(`want "VKEY URL": the witness's key and its address`)

// Parse reads a witness in the form "VKEY URL". VKEY is the witness's public key for
// Ed25519 cosignatures, in note format. URL is the witness's submission prefix.
func Parse(text string) (Witness, error) {
	fields := strings.Fields(text)
	if len(fields) != 2 {
		return Witness{}, fmt.Errorf("%q: %w", text, errForm)
	}
	v, err := torchwood.NewCosignatureVerifier(fields[0])
	if err != nil {
		return Witness{}, fmt.Errorf("%q is not a witness's key: %w; want NAME+HASH+KEY, for Ed25519 cosignatures", fields[0], err)
	}
	u, err := url.Parse(fields[1])
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return Witness{}, fmt.Errorf("%q is not the URL of a witness: want http(s)://host[:port][/path]", fields[1])
	}
	return Witness{verifier: v, prefix: strings.TrimRight(u.String(), "/")}, nil
}

// ParseAll reads several witnesses with [Parse]. It fails if two of them have the
// same name or the same key.
func ParseAll(texts []string) ([]Witness, error) {
	var all []Witness
	names, keys := map[string]bool{}, map[string]bool{}
	for _, text := range texts {
		w, err := Parse(text)
		if err != nil {
			return nil, err
		}
		vkey := w.verifier.String()
		key := vkey[strings.LastIndex(vkey, "+"):]
		if names[w.Name()] || keys[key] {
			return nil, fmt.Errorf("%q: an earlier --witness has the same name or key; remove one of the two", vkey)
		}
		names[w.Name()], keys[key] = true, true
		all = append(all, w)
	}
	return all, nil
}
