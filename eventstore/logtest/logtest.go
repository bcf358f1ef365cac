// Package logtest holds the conformance suite that every implementation of the
// log's port passes, and a wrapper that makes any log fail on purpose. It knows
// no implementation: Run is given one, and may be given a server that others
// are writing to, since each case names streams of its own. Of the node contract
// it shows what the port reaches; links, soft deletes, persistent subscriptions
// and what servers answer worse than the contract are the node's own tests'.
package logtest

import (
	"testing"

	"hexarena/eventstore"
)

// Case is one thing that every log does.
type Case struct {
	Name string
	Row  string // of the node contract: the section and what of it is shown
	test func(*fixture)
}

// Run holds a log to every case. It asks for a log once a case; the same one
// may be given each time.
func Run(t *testing.T, open func(t *testing.T) eventstore.Log) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			t.Logf("node contract, %s", c.Row)
			c.test(newFixture(t, open(t)))
		})
	}
}

// Cases lists the suite.
func Cases() []Case {
	var all []Case
	for _, group := range [][]Case{appendCases, retryCases, readCases, readAllCases, subscribeCases, metadataCases, tombstoneCases, contextCases, contentionCases} {
		all = append(all, group...)
	}
	return all
}
