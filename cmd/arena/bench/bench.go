// Package bench is `arena bench`: each command measures one part of the arena.
// They measure the rules, `arena verify`, the log, read models, answers to
// spectators and callers, and a day of play. A command makes what it needs: a
// node on loopback in this process, or an arena in a process of its own, which
// runs this executable. Only the arena's flags and printed addresses are known
// here, not its wiring.
//
// Each command's Run prints its figures to kong's Stdout and its progress to
// Stderr.
package bench

// Cmds are the commands of `arena bench`.
type Cmds struct {
	Verify      verifyCmd      `cmd:"" help:"Matches and ladders recomputed on one core."`
	Engine      engineCmd      `cmd:"" help:"Random games on one core."`
	Log         logCmd         `cmd:"" help:"Appends, reads and subscriptions through the client, compared with the storage engine."`
	Growth      growthCmd      `cmd:"" help:"Ten million events in one node: opening it, memory, reads at both ends."`
	Live        liveCmd        `cmd:"" help:"Readers of running matches over real sockets: the time from an event's append to each reader."`
	Projections projectionsCmd `cmd:"" help:"Read models rebuilt, from a node and from memory."`
	Export      exportCmd      `cmd:"" help:"A simulated day of tables: the log's size, and the time to subscribe to, export and publish it."`
	Reads       readsCmd       `cmd:"" help:"Lists, rankings and records over real sockets, with many matches."`
}
