// Package bench measures the arena's parts, each by a command of `arena bench`:
// the rules, the log, read models, what spectators and callers are answered, and
// a day of play. What a command needs it makes itself: a node on loopback in
// this process, or an arena in a process of its own, which is this executable
// called again. Flags, figures and the shapes of their JSON are here; it knows
// nothing of how an arena is plugged together.
//
// Each command's Run prints its figures to kong's Stdout and how far it is to
// its Stderr.
package bench

// Cmds are the commands of `arena bench` but for `bench verify`, which measures
// what `arena verify` is made of, and is there.
type Cmds struct {
	Engine      engineCmd      `cmd:"" help:"Random play-outs on one core."`
	Log         logCmd         `cmd:"" help:"Appends, reads and subscriptions through the client, beside the storage alone."`
	Growth      growthCmd      `cmd:"" help:"Ten million events in one node: opening it, memory, reads at both ends."`
	Live        liveCmd        `cmd:"" help:"Readers of running matches over real sockets, from an event's append to each."`
	Projections projectionsCmd `cmd:"" help:"Read models folded anew, from a node and from memory."`
	Export      exportCmd      `cmd:"" help:"A day of tables, simulated: the log's size, and the time to subscribe, export and publish it."`
	Reads       readsCmd       `cmd:"" help:"Lists, rankings and records over real sockets, with many matches."`
}
