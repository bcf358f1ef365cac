package practice

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"hexarena/adapters/housebot"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/rating"
)

// The prefixes of the arguments that name bots.
const (
	housePrefix   = "house:"
	commandPrefix = "cmd:"
	portField     = "{port}"
)

// maxName is the maximum length of a bot's name, in bytes.
const maxName = 32

// bot is a bot that takes part in every match. Exactly one of house, url and command is
// set.
type bot struct {
	id      string
	name    string // unique among the bots
	spec    string // the argument that names the bot
	house   string // the name of a house bot
	url     string
	command string // a command for sh that contains {port}
}

// parseBot reads an argument that names a bot.
func parseBot(spec string) (b bot, err error) {
	b.spec = spec
	house, isHouse := strings.CutPrefix(spec, housePrefix)
	command, isCommand := strings.CutPrefix(spec, commandPrefix)
	switch {
	case isHouse:
		b.house, b.name = house, house
		if !slices.Contains(housebot.Names(), house) {
			err = fmt.Errorf("bot %q: no house bot has this name; choose one of %s%s", spec, housePrefix, strings.Join(housebot.Names(), ", "+housePrefix))
		}
	case isCommand:
		b.command, b.name = command, strings.Join(strings.Fields(strings.ReplaceAll(command, portField, "")), " ")
		if !strings.Contains(command, portField) {
			err = fmt.Errorf("bot %q: the command does not contain %s; the program must listen on the port that replaces it, for example %spython3 bot.py %s", spec, portField, commandPrefix, portField)
		}
	default:
		b.url, b.name = spec, ""
		u, parseErr := url.Parse(spec)
		if parseErr != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return b, fmt.Errorf("bot %q is neither a URL (http://127.0.0.1:9001), nor a house bot (%sgreedy), nor a command (%spython3 bot.py %s)", spec, housePrefix, commandPrefix, portField)
		}
		b.name = u.Host + strings.TrimSuffix(u.Path, "/")
	}
	if len(b.name) > maxName {
		b.name = strings.ToValidUTF8(b.name[:maxName-1], "") + "…"
	}
	return b, err
}

// parseBots reads the arguments that name the bots of a match. If several bots have the
// same name, it numbers them.
func parseBots(specs []string) ([]bot, error) {
	if len(specs) < 3 || len(specs) > 4 {
		return nil, fmt.Errorf("a match has 3 or 4 bots, not %d", len(specs))
	}
	bots := make([]bot, len(specs))
	count := map[string]int{}
	for i, spec := range specs {
		b, err := parseBot(spec)
		if err != nil {
			return nil, err
		}
		if b.url != "" && slices.Contains(specs[:i], spec) {
			return nil, fmt.Errorf("bot %q is listed twice; a bot plays only one seat of a match, so start it a second time on another port", spec)
		}
		if count[b.name]++; count[b.name] > 1 {
			b.name = fmt.Sprintf("%s %d", b.name, count[b.name])
		}
		b.id = ladder.NameUUID(fmt.Sprintf("hexarena:practice:bot:%d:%s", i, spec))
		bots[i] = b
	}
	return bots, nil
}

// seat returns the bot as the start of a match stores it.
func (b *bot) seat() match.Seat {
	r := rating.New()
	return match.Seat{BotID: b.id, BotName: b.name, OwnerID: localOwner, Mu: r.Mu, Sigma: r.Sigma}
}

// localOwner is the owner of all bots in local matches.
const localOwner = "local"

var errUnknownBot = errors.New("the bot does not play in this match")
