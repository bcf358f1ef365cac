package main

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"golang.org/x/crypto/ssh"
)

type keyCmd struct {
	New keyNew `cmd:"" help:"Make an Ed25519 pair: the private key in PEM, and the line to register."`
}

type keyNew struct{}

// Run prints the private key, as PKCS#8 in PEM, and the public line.
func (keyNew) Run(s streams) error {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return err
	}
	line, err := ssh.NewPublicKey(public)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%s", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	fmt.Fprintf(s.out, "%s", ssh.MarshalAuthorizedKey(line))
	return nil
}
