package remote

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/alecthomas/kong"

	"hexarena/adapters/client"
)

// KeyCmd is `arena key`. It manages the owner's key pair on this machine.
type KeyCmd struct {
	New keyNew `cmd:"" help:"Create an Ed25519 key pair: write the private key to a file, and print the line to register."`
}

type keyNew struct {
	Out string `placeholder:"FILE" help:"File for the private key; it must not exist (default: key.pem in the user's configuration folder)."`
}

// Run writes the private key, as PKCS#8 in PEM, to a file that only the current
// user can read. It prints the public key as a line to register.
func (c keyNew) Run(k *kong.Kong) error {
	path := c.Out
	if path == "" {
		var err error
		if path, err = defaultKeyFile(); err != nil {
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
	fmt.Fprint(k.Stdout, line)
	fmt.Fprintf(k.Stderr, "the private key is in %s\n", path)
	return nil
}

// writeNew creates a file that only the current user can read. It never overwrites
// an existing file.
func writeNew(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s already exists: name another file with --out", path)
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

func defaultKeyFile() (string, error) {
	dir, err := ConfigFolder()
	return filepath.Join(dir, "key.pem"), err
}

func readKey(path string) (ed25519.PrivateKey, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s does not exist: run arena key new to make a key", path)
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
