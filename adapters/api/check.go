package api

import "hexarena/domain/owner"

type stepBody struct {
	Name      string `json:"name"`
	OK        bool   `json:"ok"`
	Detail    string `json:"detail"`
	ElapsedMs int64  `json:"elapsedMs"`
}

type checkOutput struct {
	Body struct {
		OK    bool       `json:"ok"`
		Steps []stepBody `json:"steps" nullable:"false"`
	}
}

func (s *Server) checkBot(c *call, in *botPath) (*checkOutput, error) {
	bot, _ := c.account.Bot(in.ID)
	steps := s.Checker.Check(c.ctx, bot.URL)
	out := new(checkOutput)
	out.Body.OK, out.Body.Steps = passed(steps), stepBodies(steps)
	return out, nil
}

// allowed refuses a URL that may not be dialled, before any dial.
func (s *Server) allowed(url string) error {
	if err := s.Checker.Allowed(url); err != nil {
		return owner.InvalidURL("is refused: " + err.Error())
	}
	return nil
}

// mustPass refuses a bot that does not pass the deploy check.
func (s *Server) mustPass(c *call, url string) error {
	if steps := s.Checker.Check(c.ctx, url); !passed(steps) {
		return &checkFailed{steps}
	}
	return nil
}

// passed says whether every step did; a check without steps did not run.
func passed(steps []Step) bool {
	for _, step := range steps {
		if !step.OK {
			return false
		}
	}
	return len(steps) > 0
}

func stepBodies(steps []Step) []stepBody {
	bodies := make([]stepBody, len(steps))
	for i, step := range steps {
		bodies[i] = stepBody{Name: step.Name, OK: step.OK, Detail: step.Detail, ElapsedMs: step.Elapsed.Milliseconds()}
	}
	return bodies
}
