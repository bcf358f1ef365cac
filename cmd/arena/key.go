package main

import (
	"crypto/ed25519"
	"encoding/pem"
	"fmt"

	"golang.org/x/crypto/ssh"
)

type keyCmd struct {
	New keyNew `cmd:"" help:"Make an Ed25519 pair: the private key in PEM, and the line to register."`
}

type keyNew struct{}

// Run prints the private key for a file of the owner's, and the public line.
func (keyNew) Run(s streams) error {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	block, err := ssh.MarshalPrivateKey(private, "hex arena")
	if err != nil {
		return err
	}
	line, err := ssh.NewPublicKey(public)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%s", pem.EncodeToMemory(block))
	fmt.Fprintf(s.out, "%s", ssh.MarshalAuthorizedKey(line))
	return nil
}
