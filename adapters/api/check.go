package api

import (
	"hexarena/adapters/rest"
	"hexarena/adapters/rest/problem"
	"hexarena/domain/owner"
)

func (s *Server) checkBot(c *call, in *botPath) (rest.Check, error) {
	bot, _ := c.account.Bot(in.ID)
	return c.check(bot.ID, bot.URL), nil
}

// check runs the deploy check. If one of the arena's web pages makes the call, the
// response writer is a rest.StepWriter. The method then writes each step to it as soon
// as the step ends.
func (c *call) check(botID, url string) rest.Check {
	follower, _ := c.echo.Response().Writer.(rest.StepWriter)
	check := rest.Check{OK: true, Steps: []rest.Step{}}
	for step := range c.server.Checker.Check(c.ctx, botID, url) {
		check.Steps = append(check.Steps, step)
		check.OK = check.OK && step.OK
		if follower != nil {
			follower.WriteStep(step)
		}
	}
	check.OK = check.OK && len(check.Steps) > 0 // a check without steps did not run
	return check
}

// mustPass returns an error if the bot does not pass the deploy check.
func (c *call) mustPass(botID, url string) error {
	if check := c.check(botID, url); !check.OK {
		return &problem.CheckFailed{Steps: check.Steps}
	}
	return nil
}

// The method allowed() returns an error if the arena may not connect to the URL. It
// does not open a connection.
func (c *call) allowed(url string) error {
	if err := c.server.Checker.Allowed(c.ctx, url); err != nil {
		return owner.InvalidURL("is refused: " + err.Error())
	}
	return nil
}
