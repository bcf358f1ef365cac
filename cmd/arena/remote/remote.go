// Package remote contains the commands that call an arena over HTTP. The owners'
// commands are sign-in, sign-out, me, bots, keys, matches, follow and leaderboard. The
// operators' command is admin. All commands use the REST interface that is open to
// any program. The package adapters/client makes and signs the calls. A profile file
// stores the arena, the session and the key between commands.
package remote

// OwnerCmds are the owners' commands. They work with any arena.
type OwnerCmds struct {
	SignIn      signInCmd      `cmd:"" help:"Sign in with a link from an email, and remember the session."`
	SignOut     signOutCmd     `cmd:"" help:"End the session, and forget it."`
	Me          meCmd          `cmd:"" help:"Show the account, or choose its handle."`
	Mails       mailsCmd       `cmd:"" help:"Show which emails you get about your bots, or switch them on or off."`
	Bots        botsCmd        `cmd:"" help:"Manage bots."`
	Keys        keysCmd        `cmd:"" help:"Manage API keys."`
	Matches     matchesCmd     `cmd:"" help:"List matches, the newest first."`
	Follow      followCmd      `cmd:"" help:"Print each event of your bots as soon as it happens, or run a command for each event."`
	Leaderboard leaderboardCmd `cmd:"" help:"Show a ladder."`
}

// defaultArena is where `arena serve` and `arena demo` listen by default.
const defaultArena = "http://127.0.0.1:8080"
