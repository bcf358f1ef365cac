package witness

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// These errors are the reasons for failures. metrics.go assigns each of them a value of
// the label "why" in arena_witness_failures_total.
var (
	errUnreachable  = errors.New("no response from the witness")
	errUnknownLog   = errors.New("the witness does not know this log; its operator must add it")
	errWrongKey     = errors.New("the witness has a different key for this log; its operator must add the arena's key")
	errInconsistent = errors.New("the witness has cosigned a different tree of this log")
	errAhead        = errors.New("the witness has cosigned a larger tree of this log")
	errInvalid      = errors.New("the witness sent no valid cosignature")
	errRejected     = errors.New("the witness rejected the head")
)

const (
	sizeTries   = 3       // maximum number of requests for one head; another process on the same log may submit heads in between
	maxResponse = 1 << 16 // maximum number of bytes that the client reads from a response
)

// cosignature gets a witness's cosignature for a head, and returns it as a line of a
// note. It returns only cosignatures that it has verified.
func (c *Client) cosignature(ctx context.Context, mode string, p *peer, h head) (line string, err error) {
	for range sizeTries {
		old := p.size
		if old > h.size {
			old = 0 // ask for the witness's size again
		}
		body, err := c.request(ctx, mode, old, h)
		if err != nil {
			return "", err
		}
		status, answer, err := c.post(ctx, p.prefix+"/add-checkpoint", body)
		if err != nil {
			return "", fmt.Errorf("%w: %w", errUnreachable, err)
		}
		switch status {
		case http.StatusOK:
			return p.verified(h, answer)
		case http.StatusConflict:
			if p.size, err = conflict(answer, old, h); err != nil {
				return "", err
			}
		default:
			return "", rejection(status, answer, old, h)
		}
	}
	return "", fmt.Errorf("%w: each of its 409 responses contained a different size", errRejected)
}

// request builds the body of a request: the old size, the proof, an empty line and
// the head.
func (c *Client) request(ctx context.Context, mode string, old uint64, h head) ([]byte, error) {
	var hashes [][]byte
	if old > 0 && old < h.size {
		var err error
		if hashes, err = c.o.Trees.Consistency(ctx, mode, old, h.size); err != nil {
			return nil, fmt.Errorf("prove that the tree of size %d continues the tree of size %d: %w", h.size, old, err)
		}
	}
	body := fmt.Appendf(nil, "old %d\n", old)
	for _, hash := range hashes {
		body = append(base64.StdEncoding.AppendEncode(body, hash), '\n')
	}
	return append(append(body, '\n'), h.signed...), nil
}

func (c *Client) post(ctx context.Context, url string, body []byte) (status int, answer []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(response.Body, maxResponse))
	return response.StatusCode, answer, err
}

// The method verified() returns the cosignature in a response, as a line of a note. It
// ignores signatures by other keys.
func (w Witness) verified(h head, answer []byte) (line string, err error) {
	n, err := note.Open(append(bytes.Clone(h.signed), answer...), note.VerifierList(w.verifier))
	if err != nil {
		return "", fmt.Errorf("%w: %w", errInvalid, err)
	}
	return fmt.Sprintf("— %s %s\n", n.Sigs[0].Name, n.Sigs[0].Base64), nil
}

// conflict returns the size in a 409 response, which is the size of the newest head
// that the witness has cosigned. It returns an error if a request with that size cannot
// succeed.
func conflict(answer []byte, old uint64, h head) (size uint64, err error) {
	text, _ := strings.CutSuffix(string(answer), "\n")
	size, err = strconv.ParseUint(text, 10, 63)
	switch {
	case err != nil:
		return old, fmt.Errorf("%w: its 409 response contains no tree size", errRejected)
	case size > h.size:
		return size, fmt.Errorf("%w: its tree has size %d, but the ladder has only %d events", errAhead, size, h.size)
	case size == old && size == h.size:
		return size, fmt.Errorf("%w: its tree of size %d has a different root (409)", errInconsistent, size)
	case size == old:
		return size, fmt.Errorf("%w: its 409 response repeats the size %d that the arena sent", errRejected, size)
	}
	return size, nil
}

// rejection returns the error for a status other than 200 and 409.
func rejection(status int, answer []byte, old uint64, h head) error {
	switch status {
	case http.StatusNotFound:
		return fmt.Errorf("%w: origin %q (404)", errUnknownLog, h.origin)
	case http.StatusForbidden:
		return fmt.Errorf("%w: origin %q (403)", errWrongKey, h.origin)
	case http.StatusUnprocessableEntity:
		return fmt.Errorf("%w: it rejected the proof from size %d to size %d (422)", errInconsistent, old, h.size)
	}
	text, _, _ := strings.Cut(string(answer[:min(len(answer), 200)]), "\n")
	return fmt.Errorf("%w: %d %s %q", errRejected, status, http.StatusText(status), text)
}
