// Package practice implements the commands with which authors improve bots on their own
// machine, without an arena: `arena play`, `arena compare`, `arena check-bot`, `arena
// fork` and `arena regress`. Package view implements `arena view`. The matches use the
// rules, the referee and the protocol of an arena. Their logs are in memory. Nothing is
// stored unless a flag asks for it. Package domain/tournament plans the matches and sums
// up the results.
package practice

import "hexarena/cmd/arena/practice/view"

// Cmds are the commands for practice.
type Cmds struct {
	Play     playCmd     `cmd:"" help:"Play matches between bots on this machine, without an arena, and compare the bots."`
	Compare  compareCmd  `cmd:"" help:"Find out whether a new version of a bot is better than the old one."`
	CheckBot checkBotCmd `cmd:"" help:"Check whether a bot follows the protocol, in less than a minute."`
	View     view.Cmd    `cmd:"" help:"Show matches in the browser: the replay, every decision of each bot, and your bot's notes."`
	Fork     forkCmd     `cmd:"" help:"Play on from any event of an ended match, with other bots and other dice."`
	Regress  regressCmd  `cmd:"" help:"Send the recorded requests of a bot to a new version, and compare the answers."`
}
