package api

import (
	"net/http"

	"hexarena/adapters/api/describe"
	"hexarena/adapters/rest"
	"hexarena/domain/owner"
)

// registerEndpoints adds all routes. The file describe/operations.yaml contains a
// description of each endpoint, with the endpoint's id as its key.
func (s *Server) registerEndpoints() {
	register(s, endpoint{id: "get-health", route: "GET /health"}, s.getHealth)
	register(s, endpoint{id: "get-arena", route: "GET /.well-known/arena.json"}, s.getArena)
	register(s, endpoint{id: "get-security-txt", route: "GET /.well-known/security.txt", etag: true, text: "text/plain"}, s.getSecurityText)

	register(s, endpoint{id: "get-openapi", route: "GET /openapi.json", etag: true}, document[describe.AnyObject](s, "openapi"))
	register(s, endpoint{id: "get-llms", route: "GET /llms.txt", etag: true, text: "text/markdown"}, document[nothing](s, "llms"))
	register(s, endpoint{id: "get-changelog", route: "GET /changelog", etag: true, text: "text/html"}, document[rest.Changelog](s, "changelog"))
	register(s, endpoint{id: "get-reference", route: "GET /docs/api", hidden: true, text: "text/html"}, document[nothing](s, "reference"))

	register(s, endpoint{id: "send-sign-in-link", route: "POST /sign-in", status: http.StatusAccepted, forms: true}, s.sendLink)
	register(s, endpoint{id: "confirm-sign-in", route: "POST /sign-in/confirm", forms: true}, s.confirm)
	register(s, endpoint{id: "sign-out", route: "POST /sign-out", session: true}, s.signOut)

	register(s, endpoint{id: "get-me", route: "GET /me", scope: owner.AccountRead}, s.getMe)
	register(s, endpoint{id: "patch-me", route: "PATCH /me", scope: owner.AccountWrite}, s.patchMe)
	register(s, endpoint{id: "delete-me", route: "DELETE /me", session: true}, s.deleteMe)
	register(s, endpoint{id: "stream-my-events", route: "GET /me/events", scope: owner.BotsRead, text: eventStream}, s.streamEvents)

	register(s, endpoint{id: "list-keys", route: "GET /keys", scope: owner.KeysRead}, s.listKeys)
	register(s, endpoint{id: "register-key", route: "POST /keys", status: http.StatusCreated, scope: owner.KeysWrite}, s.registerKey)
	register(s, endpoint{id: "revoke-key", route: "DELETE /keys/{id}", scope: owner.KeysWrite}, s.revokeKey)

	register(s, endpoint{id: "list-bots", route: "GET /bots", scope: owner.BotsRead}, s.listBots)
	register(s, endpoint{id: "register-bot", route: "POST /bots", status: http.StatusCreated, scope: owner.BotsWrite, dials: always}, s.registerBot)
	register(s, endpoint{id: "get-bot", route: "GET /bots/{id}", scope: owner.BotsRead}, s.getBot)
	register(s, endpoint{id: "change-bot", route: "PATCH /bots/{id}", scope: owner.BotsWrite, dials: movesBot}, s.changeBot)
	register(s, endpoint{id: "remove-bot", route: "DELETE /bots/{id}", scope: owner.BotsWrite}, s.removeBot)
	register(s, endpoint{id: "check-bot", route: "POST /bots/{id}/check", scope: owner.BotsWrite, dials: always}, s.checkBot)
	register(s, endpoint{id: "list-bot-decisions", heavy: true, route: "GET /bots/{id}/decisions", scope: owner.BotsRead, text: rest.LinesType}, s.listDecisions)
	register(s, endpoint{id: "get-decisions", route: "GET /bots/{id}/matches/{matchId}/decisions", scope: owner.BotsRead}, s.getDecisions)

	register(s, endpoint{id: "order-trial", route: "POST /bots/{id}/trial", status: http.StatusAccepted, scope: owner.BotsWrite, dials: always}, s.orderTrial)
	register(s, endpoint{id: "get-trial", route: "GET /bots/{id}/trials/{trialId}", scope: owner.BotsRead}, s.getTrial)
	register(s, endpoint{id: "stream-trial", route: "GET /bots/{id}/trials/{trialId}/stream", scope: owner.BotsRead, text: eventStream}, s.streamTrial)
	register(s, endpoint{id: "get-trial-frames", route: "GET /bots/{id}/trials/{trialId}/frames", scope: owner.BotsRead}, s.getTrialFrames)
	register(s, endpoint{id: "get-trial-decisions", route: "GET /bots/{id}/trials/{trialId}/decisions", scope: owner.BotsRead}, s.getTrialDecisions)

	register(s, endpoint{id: "list-matches", route: "GET /matches"}, s.listMatches)
	register(s, endpoint{id: "get-match", route: "GET /matches/{id}", etag: true}, s.getMatch)
	register(s, endpoint{id: "get-frames", heavy: true, route: "GET /matches/{id}/frames", etag: true}, s.getFrames)
	register(s, endpoint{id: "get-statistics", route: "GET /matches/{id}/statistics", etag: true}, s.getStatistics)
	register(s, endpoint{id: "get-win-probability", heavy: true, route: "GET /matches/{id}/win-probability", etag: true}, s.getWinProbability)

	register(s, endpoint{id: "list-live", route: "GET /live"}, s.listLive)
	register(s, endpoint{id: "get-live", route: "GET /live/{id}"}, s.getLive)
	register(s, endpoint{id: "stream-live", route: "GET /live/stream", text: eventStream}, s.streamLive)
	register(s, endpoint{id: "stream-match", route: "GET /live/{id}/stream", text: eventStream}, s.streamMatch)

	register(s, endpoint{id: "get-leaderboard", heavy: true, route: "GET /leaderboard", etag: true}, s.getLeaderboard)
	register(s, endpoint{id: "get-queue", route: "GET /queue"}, s.getQueue)
	register(s, endpoint{id: "get-bot-history", heavy: true, route: "GET /bots/{id}/history"}, s.getHistory)
	register(s, endpoint{id: "get-bot-statistics", heavy: true, route: "GET /bots/{id}/statistics"}, s.getBotStatistics)
	register(s, endpoint{id: "get-ladder-statistics", route: "GET /ladder/{mode}/statistics"}, s.getLadderStatistics)

	register(s, endpoint{id: "get-log-head", route: "GET /log/{mode}/head", etag: true, text: "text/plain"}, s.getLogHead)
	register(s, endpoint{id: "get-log-inclusion", route: "GET /log/{mode}/inclusion", etag: true}, s.getLogInclusion)
	register(s, endpoint{id: "get-log-consistency", route: "GET /log/{mode}/consistency", etag: true}, s.getLogConsistency)
	register(s, endpoint{id: "get-ladder-key", route: "GET /log/{mode}/vkey", etag: true, text: "text/plain"}, s.getLadderKey)
	register(s, endpoint{id: "get-ladder-checkpoint", route: "GET /ladder/{mode}/checkpoint", etag: true, text: "text/plain"}, s.getCheckpoint)
	register(s, endpoint{id: "get-ladder-tile", route: "GET /ladder/{mode}/tile/{path...}", etag: true, text: "application/octet-stream"}, s.getTile)
	register(s, endpoint{id: "get-ladder-proof", route: "GET /ladder/{mode}/proof/{index}", etag: true, text: "text/plain"}, s.getLadderProof)
	register(s, endpoint{id: "list-ladder-events", heavy: true, route: "GET /ladder/{mode}/events", etag: true}, s.listLadderEvents)
	register(s, endpoint{id: "get-seed-keys", route: "GET /log/keys", etag: true}, s.getSeedKeys)
}
