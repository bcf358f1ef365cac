// Package nodecmd implements `arena node`. It serves the embedded event store
// without an arena, copies logs, and checks, backs up and scavenges a node's
// log.
package nodecmd

// Cmds are the commands of `arena node`.
type Cmds struct {
	Serve    serveCmd    `cmd:"" default:"withargs" help:"Run only the embedded EventStoreDB node; \"serve\" may be left out."`
	Copy     copyCmd     `cmd:"" help:"Copy a log into an empty one, or continue a copy that was interrupted."`
	Check    checkCmd    `cmd:"" help:"Read the whole folder of a stopped node, and report damage."`
	Backup   backupCmd   `cmd:"" help:"Copy a running node's log into a folder."`
	Scavenge scavengeCmd `cmd:"" help:"Delete from a running node's disk the events that metadata and tombstones hide."`
}
