package remote

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"hexarena/adapters/rest"
	"hexarena/domain/owner"
)

type mailsCmd struct {
	signed
	Failing     string `enum:"on,off," default:"" placeholder:"on|off" help:"Emails about a bot that is failing."`
	Unreachable string `enum:"on,off," default:"" placeholder:"on|off" help:"Emails about a bot that the arena cannot reach."`
	Recovered   string `enum:"on,off," default:"" placeholder:"on|off" help:"Emails about a bot that plays again."`
}

// Run shows which emails the owner gets. If a flag is given, Run first switches the
// emails of that kind on or off.
func (c mailsCmd) Run(ctx context.Context, s *session) error {
	r := get(owner.AccountRead, "/me")
	if patch := (rest.MailsPatch{Failing: isOn(c.Failing), Unreachable: isOn(c.Unreachable), Recovered: isOn(c.Recovered)}); patch != (rest.MailsPatch{}) {
		r = request{owner.AccountWrite, http.MethodPatch, "/me", rest.AccountPatch{Mails: &patch}}
	}
	return askAndShow(ctx, s, r, func(w io.Writer, a rest.Account) {
		fmt.Fprintf(w, "failing\t%s\nunreachable\t%s\nrecovered\t%s\n", onOff(a.Mails.Failing), onOff(a.Mails.Unreachable), onOff(a.Mails.Recovered))
	})
}

// isOn returns the value of a flag, or nil if the flag is not given.
func isOn(flag string) *bool {
	if flag == "" {
		return nil
	}
	return new(flag == "on")
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
