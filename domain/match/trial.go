package match

// TrialPrefix begins the name of every trial's stream. A trial is a match that
// counts nowhere. Its stream has the same events as a match's stream. The prefix
// differs from StreamPrefix, so no list, ladder or copy for analysts contains
// trials (docs/adr/0049-a-trial-is-a-match-in-a-stream-of-its-own.md).
const TrialPrefix = "trial-"

// TrialStream names the stream of a trial.
func TrialStream(trialID string) string { return TrialPrefix + trialID }
