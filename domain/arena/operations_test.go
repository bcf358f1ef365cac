package arena_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/arena"
)

func TestDrain(t *testing.T) {
	started, ended := arena.DrainStarted{Reason: "upgrade"}, arena.DrainEnded{Reason: "done"}
	start := func(reason string) func(arena.Operations) ([]arena.Event, error) {
		return func(o arena.Operations) ([]arena.Event, error) { return o.StartDrain(reason) }
	}
	end := func(reason string) func(arena.Operations) ([]arena.Event, error) {
		return func(o arena.Operations) ([]arena.Event, error) { return o.EndDrain(reason) }
	}

	tests := map[string]struct {
		given events
		when  func(arena.Operations) ([]arena.Event, error)
		then  events
		fails error
	}{
		"a drain starts":                     {nil, start("upgrade"), events{started}, nil},
		"a second order changes nothing":     {events{started}, start("again"), nil, nil},
		"a drain ends":                       {events{started}, end("done"), events{ended}, nil},
		"no drain, nothing to end":           {nil, end("done"), nil, nil},
		"an ended drain, nothing to end":     {events{started, ended}, end("done"), nil, nil},
		"a drain starts again":               {events{started, ended}, start("upgrade"), events{started}, nil},
		"a start without a reason":           {nil, start(" "), nil, arena.ErrNoReason},
		"an end without a reason":            {events{started}, end(""), nil, arena.ErrNoReason},
		"another stream's event is no order": {events{arena.SeedKeyRetired{}}, end("done"), nil, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := tt.when(foldOperations(tt.given))
			require.ErrorIs(t, err, tt.fails)
			require.Equal(t, tt.then, got)
		})
	}
}

func TestEvolveOperations(t *testing.T) {
	o := foldOperations(events{arena.DrainStarted{Reason: "upgrade"}})
	require.Equal(t, arena.Operations{Draining: true, Reason: "upgrade", Since: noon}, o)
	o = arena.EvolveOperations(o, arena.DrainEnded{Reason: "done"}, noon)
	require.Equal(t, arena.Operations{Reason: "done", Since: noon}, o)
}

func foldOperations(given events) arena.Operations {
	var o arena.Operations
	for _, e := range given {
		o = arena.EvolveOperations(o, e, noon)
	}
	return o
}
