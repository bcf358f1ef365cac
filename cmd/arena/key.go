package main

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hexarena/adapters/client"
)

type keyCmd struct {
	New keyNew `cmd:"" help:"Make an Ed25519 pair: the private key into a file, the line to register to the output."`
}

type keyNew struct {
	Out string `placeholder:"FILE" help:"File of the private key, which must not be there yet (default: key.pem in the user's configuration folder)."`
}

// Run writes the private key, as PKCS#8 in PEM, into a file that only its user
// may read, and prints the public line.
func (c keyNew) Run(s streams) error {
	path := c.Out
	if path == "" {
		var err error
		if path, err = standardKeyFile(); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
	}
	private, err := client.NewPrivate()
	if err != nil {
		return err
	}
	text, err := client.EncodePrivate(private)
	if err != nil {
		return err
	}
	line, err := client.PublicLine(private)
	if err != nil {
		return err
	}
	if err := writeNew(path, text); err != nil {
		return err
	}
	fmt.Fprint(s.out, line)
	fmt.Fprintf(s.err, "the private key is in %s\n", path)
	return nil
}

// writeNew writes a file of its user alone. One that is there is left alone.
func writeNew(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already: name another file by --out", path)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// standardKeyFile is where a user's private key is by default.
func standardKeyFile() (string, error) {
	dir, err := configFolder()
	return filepath.Join(dir, "key.pem"), err
}

func readKey(path string) (ed25519.PrivateKey, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no key in %s: arena key new makes one", path)
	}
	if err != nil {
		return nil, err
	}
	private, err := client.ParsePrivate(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return private, nil
}
