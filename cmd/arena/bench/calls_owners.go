package bench

import (
	"context"
	"crypto/ed25519"
	"net/http"
	"time"

	"github.com/google/uuid"

	"hexarena/adapters/client"
	"hexarena/domain/ladder"
	"hexarena/domain/owner"
)

// privateKey is the key of every owner. The id of the key differs for each owner.
var (
	privateKey = ed25519.NewKeyFromSeed([]byte("the owners' key of arena bench ."))
	publicKey  = privateKey.Public().(ed25519.PublicKey)
)

// keyOf returns the id of an owner's key.
func keyOf(ownerID string) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("key "+ownerID)).String()
}

// ownedBot is a bot and its owner.
type ownedBot struct {
	botID, ownerID string
	matchID        string // the bot's latest match, if it was played in full
}

// trialsPerOwner is how many paused bots each owner has. It is less than the number of
// trials that an owner may order in an hour.
const trialsPerOwner = 5

// addPaused registers paused bots, one for each call that orders a trial.
func (b *callsBench) addPaused(ctx context.Context) error {
	owners := (len(b.history.bots) + owner.BotLimit - 1) / owner.BotLimit
	for i := range min(owners, (b.flags.Calls+trialsPerOwner-1)/trialsPerOwner) {
		ownerID := b.history.bots[i*owner.BotLimit].OwnerID
		var events []owner.Event
		for range trialsPerOwner {
			id := uuid.NewString()
			b.paused = append(b.paused, ownedBot{botID: id, ownerID: ownerID})
			events = append(events,
				owner.BotRegistered{BotID: id, Name: "Paused " + id[:8], Mode: ladder.Standard, URL: "https://bots.example/" + id},
				owner.BotPaused{BotID: id, By: owner.ByOwner})
		}
		if err := appendEvents(ctx, b.arena.log, owner.AccountStream(ownerID), time.Now(), events...); err != nil {
			return err
		}
	}
	return nil
}

// callsPerOwner is the maximum number of calls that an owner makes for a row. All these
// rows together stay within the limits of one owner.
const callsPerOwner = 100

// ownersCalls lists calls of owners that read the log or change an account. Their limits
// are those of the account.
func (b *callsBench) ownersCalls() []callRow {
	veteran := b.history.bots[0]
	veterans := func(int) ownedBot { return ownedBot{botID: veteran.BotID, ownerID: veteran.OwnerID} }
	played := func(i int) ownedBot { return b.owned[i/4%len(b.owned)] }
	paused := func(i int) ownedBot { return b.paused[i%len(b.paused)] }
	rows := []callRow{
		{what: "GET /bots/{id}, with its health", bot: veterans, path: fixed("/bots/" + veteran.BotID), most: callsPerOwner},
		{what: "GET /me/events, opening it", bot: veterans, path: fixed("/me/events"), most: callsPerOwner},
		{what: "GET /me/events, from the oldest event", bot: veterans, path: fixed("/me/events"), header: http.Header{"Last-Event-Id": {"0"}}, most: callsPerOwner},
		{what: "POST /bots/{id}/trial", bot: paused, path: func(i int) string { return "/bots/" + paused(i).botID + "/trial" }, most: len(b.paused)},
	}
	if len(b.owned) > 0 {
		rows = append(rows, callRow{what: "GET /bots/{id}/decisions, of one match", bot: played, path: func(i int) string {
			return "/bots/" + played(i).botID + "/decisions?since=" + played(i).matchID + ":0"
		}, most: 4 * len(b.owned)})
	}
	return rows
}

// sign signs a call with the key of a bot's owner.
func (o ownedBot) sign(r *http.Request, body string) {
	client.Key{ID: keyOf(o.ownerID), Private: privateKey}.Sign(r.Header, time.Now(), r.Method, r.URL.RequestURI(), []byte(body))
}
