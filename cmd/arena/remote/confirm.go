package remote

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/mattn/go-isatty"
)

// The type final holds the flag of commands that cannot be undone.
type final struct {
	Yes bool `help:"Do not ask before this command does something that cannot be undone."`
}

var errNotConfirmed = errors.New("nothing was changed")

// confirm asks the user a question, unless --yes answers it. A program cannot answer
// the question, so it must use --yes.
func (f final) confirm(k *kong.Kong, question string) error {
	switch {
	case f.Yes:
		return nil
	case !isatty.IsTerminal(os.Stdin.Fd()):
		return errors.New("this cannot be undone, and standard input is not a terminal: add --yes to confirm")
	}
	fmt.Fprintf(k.Stderr, "%s [y/N] ", question)
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		fmt.Fprintln(k.Stderr)
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	return errNotConfirmed
}

// say prints a line for people. With --json, it prints nothing, because a command
// then prints only the arena's response.
func (s *session) say(format string, args ...any) {
	if !s.json {
		fmt.Fprintf(s.out, format+"\n", args...)
	}
}
