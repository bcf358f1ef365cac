package api

import (
	"hexarena/adapters/rest"
	"hexarena/domain/owner"
)

type patchMe struct {
	myAccount
	Body rest.AccountPatch
}

func (s *Server) getMe(c *call, _ *myAccount) (rest.Account, error) { return c.accountBody(c.account) }

func (s *Server) patchMe(c *call, in *patchMe) (out rest.Account, err error) {
	account := c.account
	if in.Body.Name != nil {
		handle, err := owner.ParseHandle(*in.Body.Name)
		if err != nil {
			return out, err
		}
		if handle != account.Handle {
			if account, err = c.chooseHandle(handle); err != nil {
				return out, err
			}
		}
	}
	if in.Body.Mails != nil {
		account, err = c.change(func(a owner.Account) ([]owner.Event, error) { return a.SwitchMails(switched(*in.Body.Mails)), nil })
		if err != nil {
			return out, err
		}
	}
	return c.accountBody(account)
}

// switched returns the kinds of emails that a patch switches on or off.
func switched(p rest.MailsPatch) map[string]bool {
	on := map[string]bool{}
	for kind, wanted := range map[string]*bool{owner.AboutFailing: p.Failing, owner.AboutUnreachable: p.Unreachable, owner.AboutRecovered: p.Recovered} {
		if wanted != nil {
			on[kind] = *wanted
		}
	}
	return on
}

// deleteMe deletes the caller's account. It returns once the directory no longer finds
// the account's bots or its handle.
func (s *Server) deleteMe(c *call, _ *nothing) (out nothing, err error) {
	cookies, at, err := s.Auth.Delete(c.ctx, c.caller, c.meta)
	if err != nil {
		return out, err
	}
	c.await(at)
	c.setCookies(cookies...)
	return out, nil
}

// accountBody returns an account as its owner sees it. It reads the email
// address from the address stream, because no other stream contains it.
func (c *call) accountBody(a owner.Account) (rest.Account, error) {
	email, err := c.server.Accounts.Address(c.ctx, a.ID)
	if err != nil {
		return rest.Account{}, err
	}
	mails := rest.Mails{
		Failing: a.WantsMail(owner.AboutFailing), Unreachable: a.WantsMail(owner.AboutUnreachable), Recovered: a.WantsMail(owner.AboutRecovered),
	}
	return rest.Account{ID: a.ID, Name: a.Handle, Email: email, Mails: mails}, nil
}
