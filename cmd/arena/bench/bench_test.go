package bench

import (
	"io"

	"github.com/alecthomas/kong"
)

// printingTo returns a command line that prints figures to out.
func printingTo(out io.Writer) *kong.Kong { return &kong.Kong{Stdout: out, Stderr: io.Discard} }

// asText returns a command that prints its report as text for people. asJSON returns
// a command that prints its report as a JSON object.
func asText[M measurement](m M) command[M] { return command[M]{Flags: m} }
func asJSON[M measurement](m M) command[M] { return command[M]{Flags: m, JSON: true} }
