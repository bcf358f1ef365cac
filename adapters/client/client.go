// Package client calls an arena over HTTP, for the commands of owners and operators. It
// signs calls with an Ed25519 key or sends a session cookie. If the arena refuses a
// call, the error message is a single line. Create a [Client] and use [Client.Call].
//
// The package stores nothing and does not know the endpoints: callers pass paths and
// bodies.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// callTime is the time limit for a call. Deploy checks take the longest.
	callTime = 90 * time.Second
	// maxAnswer is the maximum size of a response, in bytes. Replays are the
	// largest responses.
	maxAnswer = 64 << 20
)

// Options configure a Client. Without a key and a session, calls are anonymous.
type Options struct {
	Base    string           // http(s)://host[:port]
	Key     *Key             // if not nil, signs every request
	Session string           // the session cookie as name=value; ignored if Key is set
	Header  http.Header      // sent with every request
	Now     func() time.Time // nil means time.Now
}

// Client calls one arena. It is safe for concurrent use.
type Client struct {
	options Options
	http    *http.Client
}

// Answer is the response to a successful call.
type Answer struct {
	Header  http.Header
	Body    []byte         // as received
	Cookies []*http.Cookie // from Set-Cookie
}

// ErrBase reports that a string is not a base URL.
var ErrBase = errors.New("want http(s)://host[:port]")

// New returns a client for the arena at o.Base.
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
		// Following a redirect could send the signature or the session to another
		// server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Base checks a base URL and returns it in normal form.
func Base(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" ||
		u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return "", fmt.Errorf("%q: %w", text, ErrBase)
	}
	return u.Scheme + "://" + strings.ToLower(u.Host), nil
}

// Call sends a request and reads the response. path includes the query. If body is not
// nil, Call sends it as JSON. If the arena refuses the call, the error is a *Refusal.
// Any other error means that no complete response arrived.
func (c *Client) Call(ctx context.Context, method, path string, body any) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	response, err := c.Open(ctx, method, path, body)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	text, err := c.read(response)
	return Answer{Header: response.Header, Body: text, Cookies: response.Cookies()}, err
}

// Open is like Call, but it has no time limit and returns before the body is
// read. Use it for streams. The caller must close the body.
func (c *Client) Open(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, c.options.Base+path, bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	maps.Copy(request.Header, c.options.Header)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	switch {
	case c.options.Key != nil:
		c.options.Key.Sign(request.Header, c.options.Now(), method, request.URL.RequestURI(), raw)
	case c.options.Session != "":
		request.Header.Set("Cookie", c.options.Session)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, unreachable(c.options.Base, err)
	}
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		return response, nil
	}
	defer response.Body.Close()
	text, err := c.read(response)
	if err != nil {
		return nil, err
	}
	return nil, refusalOf(response, text)
}

func (c *Client) read(response *http.Response) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, unreachable(c.options.Base, err)
	case len(body) > maxAnswer:
		return nil, fmt.Errorf("%s sent a response of more than %d bytes", c.options.Base, maxAnswer)
	}
	return body, nil
}

// The function unreachable() describes a failed call. It removes the URL from the
// error, because the path may contain a secret.
func unreachable(base string, err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return fmt.Errorf("%s does not respond: %w", base, err)
}
