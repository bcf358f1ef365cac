package records

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"hexarena/cmd/arena/remote"
	"hexarena/cmd/arena/verify"
)

// Source holds the flags of commands that read ended matches. An argument of such a
// command names a file or a folder with records, the id of a match, or the address of a
// match at an arena.
type Source struct {
	In string `type:"existingdir" placeholder:"DIR" help:"Look only in this folder for a match that you name by its id (default: the working folder, then the arena)."`

	remote.Download
}

// Found is what an argument names: a path, or a downloaded record.
type Found struct {
	Path string // of a file or a folder; empty for a download
	Base string // the arena's URL
	Text []byte // the record
}

// Check returns an error if the flags exclude each other, or if no argument needs them.
func (s Source) Check(args ...string) error {
	if s.In != "" && s.Arena != "" {
		return errors.New("--in cannot be combined with --arena: the match is either in a folder or at an arena")
	}
	ids, addresses := false, false
	for _, what := range args {
		if _, err := os.Stat(what); err == nil {
			continue
		}
		base, id, err := verify.Locate(what)
		if err != nil {
			return err
		}
		ids, addresses = ids || base == "" && id != "", addresses || base != ""
	}
	switch {
	case s.In != "" && !ids:
		return errors.New("--in needs the id of a match: it says in which folder the match is")
	case s.Arena != "" && !ids:
		return errors.New("--arena needs the id of a match: it says at which arena the match is")
	case (s.Key != "" || s.KeyID != "") && (s.In != "" || !ids && !addresses):
		return errors.New("--key and --key-id need a match at an arena: they sign the calls for the decision logs")
	}
	return nil
}

// Find finds the records that an argument names. It downloads the record if the argument
// is an address, or an id that no folder has.
func (s Source) Find(ctx context.Context, k *kong.Kong, what string) (Found, error) {
	if _, err := os.Stat(what); err == nil {
		return Found{Path: what}, nil
	}
	base, id, err := verify.Locate(what)
	switch {
	case err != nil:
		return Found{}, err
	case id == "":
		return Found{}, fmt.Errorf("%q is neither a file, nor a folder, nor the id or the address of a match", what)
	case base == "" && s.Arena == "":
		file, err := findIn(cmp.Or(s.In, "."), id)
		if file != "" || err != nil {
			return Found{Path: file}, err
		}
		if s.In != "" {
			return Found{}, fmt.Errorf("the folder %s has no record of match %s; name another folder with --in, or an arena with --arena", s.In, id)
		}
	}
	named := cmp.Or(base, s.Arena)
	if s.Arena = named; named == "" {
		if s.Arena, err = remote.LastArena(); err != nil {
			return Found{}, err
		}
	}
	text, err := s.Record(ctx, k, id)
	if err != nil && named == "" {
		err = fmt.Errorf("the working folder has no record of match %s, and the arena %s did not return it; name a folder with --in, or an arena with --arena: %w", id, s.Arena, err)
	}
	return Found{Base: s.Arena, Text: text}, err
}

// findIn looks for the record of a match in a folder of records, and in the folders of
// series inside it. It returns "" if there is none.
func findIn(dir, id string) (string, error) {
	var found []string
	for _, pattern := range []string{"", MatchFolder, path.Join("*", MatchFolder)} {
		files, err := fs.Glob(os.DirFS(dir), path.Join(pattern, id+".json"))
		if err != nil {
			return "", err
		}
		for _, file := range files {
			found = append(found, filepath.Join(dir, filepath.FromSlash(file)))
		}
	}
	if len(found) > 1 {
		return "", fmt.Errorf("there are several records of match %s; name one of the files %s", id, strings.Join(found, ", "))
	}
	return strings.Join(found, ""), nil
}
