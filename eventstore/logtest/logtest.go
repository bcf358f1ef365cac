// Package logtest helps to test logs and their callers. [Run] is the conformance suite
// that every implementation of the log's port passes, and [Agree] compares two
// implementations. [Faulty] wraps a log and makes it fail on purpose. [History] checks
// that a log is linearizable. The package also has helpers that tests of other
// packages share: seeds, comparisons of long texts, and the search for leaked
// goroutines.
//
// The package does not know any implementation. Each case of the suite uses its own
// streams, so Run also works on a server that others use. It covers what the port
// offers. The tests of the node cover the rest, such as links, soft deletes and
// persistent subscriptions.
package logtest

import (
	"testing"

	"hexarena/eventstore"
)

// Case is a test of one property of a log.
type Case struct {
	Name     string
	Property string // its area, a colon, and the property
	test     func(*fixture)
}

// Run tests a log with every case. It calls open once for each case; open may return
// the same log each time.
func Run(t *testing.T, open func(t *testing.T) eventstore.Log) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			t.Log(c.Property)
			c.test(newFixture(t, open(t)))
		})
	}
}

// Cases returns the cases of the suite.
func Cases() []Case {
	var all []Case
	for _, group := range [][]Case{appendCases, retryCases, readCases, readAllCases, subscribeCases, metadataCases, tombstoneCases, contextCases, contentionCases} {
		all = append(all, group...)
	}
	return all
}
