// Package view implements `arena view`. It serves the replay pages of an arena for
// records in files, on a port of this machine. The pages show the decision logs of all
// seats, and what a bot noted about its decisions.
package view

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/mattn/go-isatty"

	"hexarena/adapters/web"
	"hexarena/cmd/arena/listen"
	"hexarena/cmd/arena/records"
	"hexarena/cmd/arena/remote"
)

// Cmd is `arena view`.
type Cmd struct {
	What  string `arg:"" placeholder:"FILE|ID|DIR" help:"A file with the record of a match, a folder with records, or the id of a match."`
	In    string `type:"existingdir" default:"." placeholder:"DIR" help:"Folder in which to look for the match with the given id (default: the working folder)."`
	Notes string `type:"existingfile" placeholder:"FILE" help:"A file with what your bot noted about its decisions: one JSON object on each line, with match, decision and note."`

	remote.Download
	Listen string `default:"127.0.0.1:0" placeholder:"HOST:PORT" help:"Address of this machine to listen on. Port 0 means a free port."`
}

var bareID = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// Validate checks the flags. The flag parser calls it.
func (c *Cmd) Validate() error {
	if !listen.IsLoopback(c.Listen) {
		return fmt.Errorf("--listen %s: the pages are only for this machine; listen on 127.0.0.1, and forward the port with ssh -L if you are on another machine", c.Listen)
	}
	return nil
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
	if _, err := os.Stat(c.What); err == nil {
		return records.Open(c.What)
	}
	if !bareID.MatchString(c.What) {
		return nil, fmt.Errorf("%q is neither a file, nor a folder, nor the id of a match", c.What)
	}
	id := strings.ToLower(c.What)
	if c.Arena != "" {
		text, err := c.Record(ctx, k, id)
		if err != nil {
			return nil, err
		}
		return records.Single(c.Arena, text)
	}
	file, err := find(c.In, id)
	if err != nil {
		return nil, err
	}
	return records.Open(file)
}

// find looks for the record of a match in a folder of records, and in the folders of
// series inside it.
func find(dir, id string) (string, error) {
	var found []string
	for _, pattern := range []string{"", records.MatchFolder, path.Join("*", records.MatchFolder)} {
		files, err := fs.Glob(os.DirFS(dir), path.Join(pattern, id+".json"))
		if err != nil {
			return "", err
		}
		for _, file := range files {
			found = append(found, filepath.Join(dir, filepath.FromSlash(file)))
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("the folder %s has no record of match %s; name another folder with --in, or an arena with --arena", dir, id)
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("there are several records of match %s; name one of the files %s", id, strings.Join(found, ", "))
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
