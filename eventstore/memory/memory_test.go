package memory_test

import (
	"testing"

	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
)

func TestConformance(t *testing.T) {
	logtest.Run(t, func(*testing.T) eventstore.Log { return memory.New() })
}
