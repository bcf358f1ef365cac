// Package client calls an arena as its owners and operators do: over HTTP, with
// Ed25519 signatures or a session, and with refusals told in one clear line.
//
// It knows the way of a request and of a refusal, not the endpoints: paths and
// bodies are its callers'. It keeps nothing.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// callTime is how long a call may take; a deploy check takes its time.
	callTime = 90 * time.Second
	// maxAnswer bounds an answer, in bytes; replays are the largest.
	maxAnswer = 64 << 20
)

// Options say whom to call, and who calls. With neither a key nor a session
// calls are those of anyone.
type Options struct {
	Base    string // http(s)://host[:port]
	Key     *Key   // signs every request; nil: none
	Session string // the session's cookie as the arena set it, name=value; not used beside a key
	Now     func() time.Time
}

// Client calls one arena. It is safe for concurrent use.
type Client struct {
	options Options
	http    *http.Client
}

// Answer is what the arena answered.
type Answer struct {
	Status  int
	Header  http.Header
	Body    []byte         // as it came
	Cookies []*http.Cookie // those that were set
}

// ErrBase says that a base URL is none.
var ErrBase = errors.New("want http(s)://host[:port]")

// New returns a client of the arena at a base URL.
func New(o Options) (*Client, error) {
	base, err := Base(o.Base)
	if err != nil {
		return nil, err
	}
	o.Base = base
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Client{options: o, http: &http.Client{
		Timeout: callTime,
		// Where it may lead, a signature or a session is not to follow.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Base returns the one spelling of a base URL.
func Base(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" ||
		u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return "", fmt.Errorf("%q: %w", text, ErrBase)
	}
	return u.Scheme + "://" + strings.ToLower(u.Host), nil
}

// Call sends a request, with a body as JSON unless it is nil, to a path with its
// query as both are to be sent. A refusal is a *Refusal; any other error says
// that no answer came.
func (c *Client) Call(ctx context.Context, method, path string, body any) (Answer, error) {
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return Answer{}, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, c.options.Base+path, bytes.NewReader(raw))
	if err != nil {
		return Answer{}, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	switch {
	case c.options.Key != nil:
		c.options.Key.Sign(request.Header, c.options.Now(), method, request.URL.RequestURI(), raw)
	case c.options.Session != "":
		request.Header.Set("Cookie", c.options.Session)
	}
	return c.send(request)
}

func (c *Client) send(request *http.Request) (Answer, error) {
	response, err := c.http.Do(request)
	if err != nil {
		return Answer{}, unreachable(c.options.Base, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return Answer{}, unreachable(c.options.Base, err)
	case len(body) > maxAnswer:
		return Answer{}, fmt.Errorf("%s answers more than %d bytes", c.options.Base, maxAnswer)
	case response.StatusCode < 200 || response.StatusCode > 299:
		return Answer{}, refusalOf(response, body)
	}
	return Answer{Status: response.StatusCode, Header: response.Header, Body: body, Cookies: response.Cookies()}, nil
}

// unreachable drops the URL from an error, whose path may hold what is secret.
func unreachable(base string, err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return fmt.Errorf("%s does not answer: %w", base, err)
}
