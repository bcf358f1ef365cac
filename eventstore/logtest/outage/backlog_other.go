//go:build !unix

package outage

import (
	"errors"
	"net"
)

func setBacklog(*net.TCPListener, int) error {
	return errors.New("the queue of a listener cannot be set here")
}
