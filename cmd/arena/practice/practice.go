// Package practice implements the commands with which authors improve bots on their own
// machine, without an arena: `arena play`, `arena compare` and `arena check-bot`. The matches use the rules,
// the referee and the protocol of an arena. Their logs are in memory. Nothing is stored
// unless a flag asks for it. Package domain/tournament plans the matches and sums up the
// results.
package practice

// Cmds are the commands for practice.
type Cmds struct {
	Play     playCmd     `cmd:"" help:"Play matches between bots on this machine, without an arena, and compare the bots."`
	Compare  compareCmd  `cmd:"" help:"Find out whether a new version of a bot is better than the old one."`
	CheckBot checkBotCmd `cmd:"" help:"Check whether a bot follows the protocol, in less than a minute."`
}
