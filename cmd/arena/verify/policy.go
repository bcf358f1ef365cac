package verify

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/note"

	"hexarena/projections/signedlog"
)

// policy holds the contents of a file in the format C2SP tlog-policy. The file names
// logs and witnesses, and says which witnesses must cosign a checkpoint.
type policy struct {
	file      string
	lines     []string
	witnesses []witness
}

// witness is one of the witnesses that a policy names.
type witness struct {
	*torchwood.CosignatureVerifier
	name string // the name in the policy; the key may contain another name
}

func (w witness) made(s note.Signature) bool { return w.Name() == s.Name && w.KeyHash() == s.Hash }

// cosignature is a witness's signature of a checkpoint.
type cosignature struct {
	Witness string `json:"witness"` // its name in the policy
	At      string `json:"at"`      // by the witness's clock
}

// readPolicy reads the file that --policy names. Without a file, it returns nil.
func readPolicy(file string) (*policy, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // a policy is optional
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--policy: %w", err)
	}
	if _, err := torchwood.ParsePolicy(text); err != nil {
		return nil, fmt.Errorf("--policy %s: %w", file, err)
	}
	p := &policy{file: file, lines: strings.Split(string(text), "\n")}
	for _, line := range p.lines {
		if f := fields(line); len(f) > 2 && f[0] == "witness" {
			v, err := torchwood.NewCosignatureVerifier(f[2])
			if err != nil {
				return nil, fmt.Errorf("--policy %s: witness %s: %w", file, f[1], err)
			}
			p.witnesses = append(p.witnesses, witness{v, f[1]})
		}
	}
	return p, nil
}

// The function fields() splits a line of a policy into fields, without the line's
// comment.
func fields(line string) []string {
	line, _, _ = strings.Cut(line, "#")
	return strings.Fields(line)
}

// p.of returns the policy reduced to one of its logs. A policy may name several logs,
// such as the ladders of both modes, but torchwood would then require signatures by all
// of them.
func (p *policy) of(origin, verifierKey string) (torchwood.Policy, error) {
	named := false
	kept := slices.DeleteFunc(slices.Clone(p.lines), func(line string) bool {
		f := fields(line)
		if len(f) < 2 || f[0] != "log" {
			return false
		}
		named = named || f[1] == verifierKey
		return f[1] != verifierKey
	})
	if !named {
		return nil, fmt.Errorf("--policy %s has no line for the log %s with the arena's key; if you trust this key, add the line: log %s", p.file, origin, verifierKey)
	}
	return torchwood.ParsePolicy([]byte(strings.Join(kept, "\n")))
}

// errQuorum means that too few witnesses of the policy cosigned a checkpoint.
var errQuorum = errors.New("too few witnesses of the policy cosigned it")

// check requires that a checkpoint of the given origin satisfies the policy. If too
// few witnesses cosigned it, the error wraps errQuorum and names the missing ones.
func (p *policy) check(signed []byte, origin string, key ed25519.PublicKey) ([]cosignature, error) {
	verifierKey, err := signedlog.VerifierKey(origin, key)
	if err != nil {
		return nil, err
	}
	one, err := p.of(origin, verifierKey)
	if err != nil {
		return nil, err
	}
	of, err := note.NewVerifier(verifierKey)
	if err != nil {
		return nil, err
	}
	present, err := p.cosignatures(signed, of)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errQuorum, err)
	}
	if _, _, err := torchwood.VerifyCheckpoint(signed, one); err == nil {
		return present, nil
	}
	var missing []string
	for _, w := range p.witnesses {
		if !slices.ContainsFunc(present, func(c cosignature) bool { return c.Witness == w.name }) {
			missing = append(missing, w.name)
		}
	}
	return present, fmt.Errorf("%w; missing: %s", errQuorum, strings.Join(missing, ", "))
}

// The method cosignatures() lists the valid cosignatures of the policy's witnesses. The
// parameter log is the verifier of the log, which signed every checkpoint.
func (p *policy) cosignatures(signed []byte, log note.Verifier) (list []cosignature, err error) {
	known := []note.Verifier{log}
	for _, w := range p.witnesses {
		known = append(known, w)
	}
	n, err := note.Open(signed, note.VerifierList(known...))
	if err != nil {
		return nil, err
	}
	for _, s := range n.Sigs {
		i := slices.IndexFunc(p.witnesses, func(w witness) bool { return w.made(s) })
		if i < 0 {
			continue // the log itself
		}
		at, err := torchwood.CosignatureTimestamp(s)
		if err != nil {
			return nil, err
		}
		list = append(list, cosignature{Witness: p.witnesses[i].name, At: time.Unix(at, 0).UTC().Format(time.RFC3339)})
	}
	return list, nil
}
