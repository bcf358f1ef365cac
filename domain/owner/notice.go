package owner

import "time"

// NoticeLimit is the maximum number of notices that an owner receives within
// NoticeWindow. Further notices wait.
const (
	NoticeLimit  = 5
	NoticeWindow = time.Hour
)

// MayNotify returns ErrNoticeLimit if the owner must not receive another notice
// yet.
func (a Account) MayNotify(now time.Time) error {
	if count(a.notices, func(at time.Time) bool { return now.Sub(at) < NoticeWindow }) >= NoticeLimit {
		return ErrNoticeLimit
	}
	return nil
}

// NotifyOfMovedKey records that the owner received the email about a key that
// moved to another account. It returns no event if no such email was needed.
func (a Account) NotifyOfMovedKey(keyID string) []Event {
	k, ok := a.Key(keyID)
	if !ok || !k.NoticeOwed() {
		return nil
	}
	return []Event{Notified{KeyID: keyID, About: AboutMovedKey}}
}

// NotifyOfMisses records that the owner received the email about a bot that was
// paused for misses. It returns no event if no such email was needed.
func (a Account) NotifyOfMisses(botID string) []Event {
	b, ok := a.Bot(botID)
	if !ok || !b.NoticeOwed() {
		return nil
	}
	return []Event{Notified{BotID: botID, About: AboutMisses}}
}
