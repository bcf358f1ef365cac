package owner

import "time"

// NoticeLimit is how many notices an owner gets within NoticeWindow; what is
// over waits.
const (
	NoticeLimit  = 5
	NoticeWindow = time.Hour
)

// MayNotify says whether the owner may be told of something now; its refusal is
// ErrNoticeLimit.
func (a Account) MayNotify(now time.Time) error {
	recent := 0
	for _, at := range a.notices {
		if now.Sub(at) < NoticeWindow {
			recent++
		}
	}
	if recent >= NoticeLimit {
		return ErrNoticeLimit
	}
	return nil
}

// NotifyOfMisses notes that the owner has been told of a bot's pause by misses;
// where nothing is to be told, or it was told already, there is nothing to do.
func (a Account) NotifyOfMisses(botID string) []Event {
	b, ok := a.Bot(botID)
	if !ok || !b.NoticeOwed() {
		return nil
	}
	return []Event{Notified{BotID: botID, About: AboutMisses}}
}
