// Package view implements `arena view`. It serves the replay pages of an arena for
// records in files, on a port of this machine. The pages show the decision logs of all
// seats, and what a bot noted about its decisions.
package view

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"

	"github.com/alecthomas/kong"
	"github.com/mattn/go-isatty"

	"hexarena/adapters/web"
	"hexarena/cmd/arena/listen"
	"hexarena/cmd/arena/records"
)

// Cmd is `arena view`.
type Cmd struct {
	What  string `arg:"" placeholder:"FILE|DIR|ID|URL" help:"A file or a folder with records, the id of a match, or its URL at an arena."`
	Notes string `type:"existingfile" placeholder:"FILE" help:"A file with what your bot noted about its decisions: one JSON object on each line, with match, decision and note."`

	records.Source
	Listen string `default:"127.0.0.1:0" placeholder:"HOST:PORT" help:"Address of this machine to listen on. Port 0 means a free port."`
}

// Validate checks the flags. The flag parser calls it.
func (c *Cmd) Validate() error {
	if !listen.IsLoopback(c.Listen) {
		return fmt.Errorf("--listen %s: the pages are only for this machine; listen on 127.0.0.1, and forward the port with ssh -L if you are on another machine", c.Listen)
	}
	return c.Check(c.What)
}

// Run serves the pages until ctx ends.
func (c *Cmd) Run(ctx context.Context, k *kong.Kong) error {
	set, err := c.open(ctx, k)
	if err != nil {
		return err
	}
	path := "/"
	if len(set.IDs) == 1 {
		if _, err := set.Read(set.IDs[0]); err != nil {
			return err
		}
		path = "/watch/" + set.IDs[0]
	}
	pages := newAPI(set)
	if c.Notes != "" {
		warning, err := pages.readNotes(c.Notes)
		if err != nil {
			return err
		}
		if warning != "" {
			fmt.Fprintln(k.Stderr, warning)
		}
	}
	return c.serve(ctx, k, pages, path)
}

// open finds the records that the argument names.
func (c *Cmd) open(ctx context.Context, k *kong.Kong) (*records.Set, error) {
	found, err := c.Find(ctx, k, c.What)
	switch {
	case err != nil:
		return nil, err
	case found.Path != "":
		return records.Open(found.Path)
	}
	return records.Single(found.Base, found.Text)
}

// serve serves the pages, prints their address and opens the browser.
func (c *Cmd) serve(ctx context.Context, k *kong.Kong, pages *api, path string) error {
	l, err := listen.TCP(ctx, "--listen", c.Listen)
	if err != nil {
		return err
	}
	base := "http://" + l.Addr().String()
	viewer, err := web.NewViewer(web.ViewerOptions{Records: pages, BaseURL: base, Logger: slog.New(slog.NewTextHandler(k.Stderr, nil))})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	server := listen.NewServer(onlyHere(viewer))
	served := make(chan error, 1)
	go func() { served <- listen.Serve(server, l) }()
	what := "match"
	if len(pages.set.IDs) > 1 {
		what = fmt.Sprintf("%d matches", len(pages.set.IDs))
	}
	fmt.Fprintf(k.Stdout, "%s: %s%s (Ctrl-C ends the viewer)\n", what, base, path)
	if f, ok := k.Stdout.(*os.File); ok && isatty.IsTerminal(f.Fd()) {
		openBrowser(base + path)
	}
	select {
	case <-ctx.Done():
	case err := <-served:
		return err
	}
	return errors.Join(listen.Shutdown(context.WithoutCancel(ctx), server), <-served)
}

// onlyHere rejects requests whose host is not this machine. Without this check, another
// site could read the records through a name that it directs to 127.0.0.1.
func onlyHere(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if _, _, err := net.SplitHostPort(host); err != nil {
			host += ":80" // browsers leave out this port
		}
		if !listen.IsLoopback(host) {
			http.Error(w, "the viewer answers only requests to 127.0.0.1 or localhost", http.StatusMisdirectedRequest)
			return
		}
		h.ServeHTTP(w, r)
	})
}
