package mail

import (
	"testing"

	"hexarena/eventstore/logtest"
)

func TestMain(m *testing.M) { logtest.VerifyNoLeaks(m) }
