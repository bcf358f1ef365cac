//go:build !unix

package outage

import (
	"errors"
	"net"
)

func setBacklog(*net.TCPListener, int) error {
	return errors.New("the queue of a listener cannot be set here")
}

func hold(*net.TCPAddr) (release func(), err error) {
	return nil, errors.New("an address cannot be held without listening here")
}
