package verify

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/rfc6962"

	"hexarena/adapters/client"
	"hexarena/cmd/arena/progress"
	"hexarena/cmd/arena/remote"
	"hexarena/domain/audit"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/projections/signedlog"
)

// ladderReport is the result of `arena verify --ladder`.
type ladderReport struct {
	Mode string `json:"mode"`
	audit.LadderTotals
	IDs              bool                    `json:"ids"` // whether match ids were recomputed too
	ChangesPerSecond float64                 `json:"changesPerSecond"`
	Head             uint64                  `json:"head,omitempty"` // number of results in the head that --head names, if that head was recomputed from the log
	Tree             *treeReport             `json:"tree,omitempty"` // nil without an arena
	Difference       *audit.LadderDifference `json:"difference,omitempty"`
}

// treeReport describes the signed tree of a ladder's events.
type treeReport struct {
	Size         uint64        `json:"size"`                   // number of checked entries; each is the event at the same revision
	Newer        uint64        `json:"newer,omitempty"`        // number of later entries, which were not checked because no quorum of --policy has cosigned them
	Continues    *uint64       `json:"continues,omitempty"`    // size of the remembered head; nil if none was remembered
	Results      uint64        `json:"results"`                // number of leaves; the signed log of results begins with them
	NeverStarted int           `json:"neverStarted"`           // voided matches that never started
	Witnessed    *uint64       `json:"witnessed,omitempty"`    // size of the newest tree that satisfies --policy
	Cosigned     []cosignature `json:"cosignatures,omitempty"` // of that tree
}

// ladderCheck is one run of `arena verify --ladder`. It has a log, an arena or both.
type ladderCheck struct {
	*Cmd
	log    eventstore.Log // nil if the arena serves the events
	calls  calls          // calls.arena is nil if there is no arena
	facts  facts
	trust  trust
	errOut io.Writer
	size   uint64 // number of the ladder's events in the log, counted before the keys were read
	report ladderReport
}

// verifyLadder recomputes a whole ladder, beginning with its first match.
func (c *Cmd) verifyLadder(ctx context.Context, out, errOut io.Writer) error {
	l := &ladderCheck{Cmd: c, errOut: errOut, report: ladderReport{Mode: c.Ladder}}
	closeLog, err := l.open(ctx)
	defer closeLog()
	if err == nil {
		err = l.run(ctx)
	}
	if err != nil && !errors.As(err, &l.report.Difference) {
		return err
	}
	if c.JSON {
		return errors.Join(json.NewEncoder(out).Encode(l.report), err)
	}
	if err == nil {
		l.report.show(out)
	}
	return err
}

// ladderTries limits how many times the method run() recomputes the ladder. A second
// time is necessary if the checkpoint of the ladder's tree is older than the head of
// the results.
const ladderTries = 2

// errLags means that the head of the results has more results than the ladder's tree
// has leaves.
var errLags = errors.New("results without a leaf in the ladder's tree")

func (l *ladderCheck) run(ctx context.Context) error {
	var folded *audit.Ladder
	var t *tree
	err := errLags
	for try := 1; errors.Is(err, errLags) && try <= ladderTries; try++ {
		if try > 1 {
			if err := eventstore.Sleep(ctx, signedWait); err != nil {
				return err
			}
		}
		var signed *signedLogs
		if t, signed, err = l.openTree(ctx); err != nil {
			return err
		}
		// The arena may add a seed key at any time, so read the keys only after the
		// head.
		if folded, err = l.ladder(ctx); err != nil {
			return err
		}
		begun := time.Now()
		err = l.fold(ctx, folded, t, signed)
		l.report.LadderTotals = folded.Totals
		l.report.ChangesPerSecond = float64(folded.Totals.Changes) / time.Since(begun).Seconds()
	}
	switch {
	case errors.Is(err, errLags):
		return l.differs(t.head.Size, signedDifference(err.Error(), "a leaf for each result"))
	case err != nil:
		return err
	case folded.Totals.Events == 0 && t == nil:
		return fmt.Errorf("the log contains no ladder of mode %s", l.Ladder)
	case folded.Totals.Events == 0:
		return fmt.Errorf("the ladder of mode %s has no events yet", l.Ladder)
	case t == nil && l.Head != "":
		return l.recomputeHead(ctx, l.log, l.facts.platformKey)
	}
	return nil
}

// The method open() opens the log and the arena that the flags name. If the flags name
// neither, it opens the default arena. Always call closeLog.
func (l *ladderCheck) open(ctx context.Context) (closeLog func(), err error) {
	if l.log, closeLog, err = openLog(ctx, l.EventStore); err == nil {
		err = l.openArena(ctx)
	}
	return closeLog, err
}

func (l *ladderCheck) openArena(ctx context.Context) (err error) {
	base := l.Arena
	if base == "" && l.log == nil {
		if base, err = remote.LastArena(); err != nil {
			return err
		}
	}
	if base == "" {
		if l.Policy != "" {
			return errors.New("--policy needs --arena")
		}
		return nil
	}
	if l.calls.arena, err = client.New(client.Options{Base: base}); err != nil {
		return fmt.Errorf("--arena: %w", err)
	}
	if l.facts, err = fetchFacts(ctx, l.calls); err != nil {
		return err
	}
	l.trust, err = l.Cmd.trust(l.facts)
	return err
}

// ladder returns an audit.Ladder before its first event, with the arena's keys and
// the trusted beacon.
func (l *ladderCheck) ladder(ctx context.Context) (*audit.Ladder, error) {
	var seedKeys map[string]audit.SeedKey
	var err error
	if l.calls.arena != nil {
		if seedKeys, err = fetchSeedKeys(ctx, l.calls); err != nil {
			return nil, err
		}
	}
	if l.log != nil {
		// The arena may announce a seed key and seat tables under that key at any
		// time. So count the events first and read the keys afterwards, so that the
		// keys include those of all counted events.
		if l.size, err = sizeInLog(ctx, l.log, l.Ladder); err != nil {
			return nil, err
		}
		var platform string
		if platform, seedKeys, err = arenaKeys(ctx, l.log); err != nil {
			return nil, err
		}
		if l.facts.platformKey != "" && platform != "" && platform != l.facts.platformKey {
			return nil, fmt.Errorf("the log does not belong to the arena: the log's platform key is %s, and the arena's is %s", platform, l.facts.platformKey)
		}
		l.facts.platformKey = cmp.Or(l.facts.platformKey, platform)
		if platform == "" {
			seedKeys = nil // without the stream arena-keys, no key is known
		}
	}
	folded := audit.NewLadder(l.Ladder, l.facts.platformKey)
	folded.SeedKeys = seedKeys
	l.report.IDs = l.facts.platformKey != ""
	folded.Beacons, err = l.beacons(l.facts)
	return folded, err
}

// openTree requests the heads of the mode's two trees. Without an arena, it returns
// nil.
func (l *ladderCheck) openTree(ctx context.Context) (*tree, *signedLogs, error) {
	if l.calls.arena == nil {
		return nil, nil, nil
	}
	signed := newSignedLogs(l.calls, l.trust.heads, l.trust.saved)
	t := newTree(l.calls, l.Ladder, l.trust.heads, l.trust.policy, maxBatch)
	if s := l.trust.saved; s != nil {
		if s.mode != l.Ladder {
			return nil, nil, fmt.Errorf("--head: the saved head belongs to the %s log", s.mode)
		}
		if s.tree == ladderTree {
			t.saved = &s.remembered
		}
	}
	d, err := signed.advance(ctx, l.Ladder)
	if d == nil && err == nil {
		d, err = t.advance(ctx)
	}
	return t, signed, cmp.Or(err, l.differs(t.head.Size, d))
}

// The method differs() turns a difference in a tree into an error about the ladder. It
// returns nil if there is no difference.
func (l *ladderCheck) differs(revision uint64, d *audit.Difference) error {
	if d == nil {
		return nil
	}
	return &audit.LadderDifference{Mode: l.Ladder, Revision: revision, Log: d.Log, Follows: d.Follows}
}

// fold recomputes the events. With a policy, it stops at the end of the tree that the
// witnesses have cosigned. If there is a tree, each event must be an entry of that
// tree, and the signed head of the results must follow from the tree's leaves.
func (l *ladderCheck) fold(ctx context.Context, folded *audit.Ladder, t *tree, signed *signedLogs) error {
	if t == nil {
		return foldLog(ctx, l.log, l.errOut, l.Ladder, l.size, folded)
	}
	report := &treeReport{Size: t.size(), Newer: t.head.Size - t.size(), Cosigned: t.cosigned}
	if t.policy != nil {
		witnessed := t.witnessed.Size
		report.Witnessed = &witnessed
	}
	if t.before != nil {
		report.Continues = &t.before.Size
	}
	l.report.Tree = report
	results := (&compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}).NewEmptyRange(0)
	err := fold(folded, l.Ladder, report.Size, l.errOut, t.checked(ctx, l.events(ctx, t)), func(e ladderEvent) error {
		switch {
		case e.leaf != nil:
			return results.Append(e.leaf, nil)
		case e.name == (ladder.MatchVoided{}).EventType():
			report.NeverStarted++
		}
		return nil
	})
	var inTree *treeError
	if errors.As(err, &inTree) {
		return l.differs(inTree.revision, inTree.Difference)
	}
	if err != nil {
		return err
	}
	computed := signedlog.Head{Size: results.End(), Root: rfc6962.DefaultHasher.EmptyRoot()}
	if computed.Size > 0 {
		if computed.Root, err = results.GetRootHash(nil); err != nil {
			return err
		}
	}
	report.Results = computed.Size
	// Each event that was not checked adds at most one leaf.
	if head, most := signed.heads[l.Ladder], computed.Size+report.Newer; head.Size > most {
		return fmt.Errorf("%d %w of %d events", head.Size-most, errLags, t.head.Size)
	}
	d, err := signed.follows(ctx, l.Ladder, computed)
	return cmp.Or(err, l.differs(t.head.Size, d))
}

// The method events() yields the events of the log. Without a log, it yields the events
// that the arena serves.
func (l *ladderCheck) events(ctx context.Context, t *tree) iter.Seq2[ladderEvent, error] {
	if l.log != nil {
		return eventsInLog(ctx, l.log, l.Ladder, t.size())
	}
	return t.served(ctx)
}

// recomputeHead builds the signed log's tree from the matches in the log, and
// compares it with the head that --head names.
func (l *ladderCheck) recomputeHead(ctx context.Context, log eventstore.Log, platform string) error {
	key, err := ed25519Key(platform)
	if err != nil {
		return fmt.Errorf("--head: %w", err)
	}
	s, err := readSaved(l.Head, key)
	switch {
	case err != nil:
		return err
	case s.mode != l.Ladder:
		return fmt.Errorf("--head: the saved head belongs to the %s log", s.mode)
	case s.tree != resultsTree:
		return errors.New("--head: a head of the ladder's tree needs --arena")
	}
	p := progress.New(l.errOut, "matches")
	defer p.Finish()
	h, err := signedlog.Recompute(ctx, log, s.mode, s.Size, func(leaves uint64) { p.Show("signed log", leaves, s.Size) })
	if err != nil {
		return fmt.Errorf("the signed log: %w", err)
	}
	if h.Size != s.Size || !bytes.Equal(h.Root, s.Root) {
		return &audit.LadderDifference{
			Mode: s.mode, Revision: uint64(l.report.Events),
			Log: "a signed head of " + describe(s.Head), Follows: "for the matches in this log, a head of " + describe(h),
		}
	}
	l.report.Head = s.Size
	return nil
}

func (r ladderReport) show(out io.Writer) {
	fmt.Fprintf(out, "ladder-%s: %d events, %d tables, %d bots\n", r.Mode, r.Events, r.Tables, r.Bots)
	fmt.Fprintf(out, "%d matches rated, %d voided%s; all %d rating changes are the same to the last bit (%.0f/s)\n",
		r.Rated, r.Voided, r.causes(), r.Changes, r.ChangesPerSecond)
	if r.IDs {
		fmt.Fprintln(out, "every match id follows from the platform key and the position of its table")
	} else {
		fmt.Fprintln(out, "match ids were not checked: the log has no arena-keys")
	}
	fmt.Fprintf(out, "%d of %d seatings list their candidates; the same candidates give the same tables\n", r.Repeated, r.Seatings)
	if r.Beacon == 0 {
		fmt.Fprintln(out, "no table uses a beacon")
	} else {
		fmt.Fprintf(out, "%d of %d tables use a beacon; the round's time was checked in %d of %d seatings and is correct\n", r.Beacon, r.Tables, r.Rounds, r.Seatings)
	}
	if r.Commitments == 0 {
		fmt.Fprintln(out, "no commitment was checked: no seed key of this ladder is published yet")
	} else {
		fmt.Fprintf(out, "%d of %d commitments follow from published seed keys\n", r.Commitments, r.Tables)
	}
	if len(r.Rests) > 1 {
		fmt.Fprintf(out, "the bots' rest time changed: %s\n", strings.Join(r.rests(), ", "))
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Warnings)) {
		w := r.Warnings[kind]
		fmt.Fprintf(out, "WARNING: %d seatings (the first at revision %d) %s\n", w.Count, w.First, warnings[kind])
	}
	if r.Head > 0 {
		fmt.Fprintf(out, "the signed head of %d results follows from the matches in this log\n", r.Head)
	}
	if r.Tree != nil {
		r.Tree.show(out)
	}
}

// The variable warnings holds the text of each kind of warning.
var warnings = map[string]string{
	audit.WithoutBeacon: "name no round, but an earlier seating does: the arena may have chosen their seeds",
	audit.Late:          "were stored after their round had appeared: the arena may have known their seeds",
	audit.Backdated:     "have an earlier tick than the previous seating: the arena may have known their rounds",
}

// The method rests() lists the distinct rest times.
func (r ladderReport) rests() (list []string) {
	for _, ms := range r.Rests {
		list = append(list, (time.Duration(ms) * time.Millisecond).String())
	}
	return list
}

// The method causes() lists the voided matches by cause.
func (r ladderReport) causes() string {
	var list []string
	for _, why := range slices.Sorted(maps.Keys(r.Voids)) {
		list = append(list, fmt.Sprintf("%s %d", why, r.Voids[why]))
	}
	if r.Tree != nil && r.Voided > 0 {
		list = append(list, fmt.Sprintf("%d never started", r.Tree.NeverStarted))
	}
	if len(list) == 0 {
		return ""
	}
	return " (" + strings.Join(list, ", ") + ")"
}

func (t *treeReport) show(out io.Writer) {
	if t.Newer == 0 {
		fmt.Fprintf(out, "the events are the %d entries of the ladder's signed tree\n", t.Size)
	} else {
		fmt.Fprintf(out, "the events are the first %d of the %d entries of the ladder's signed tree\n", t.Size, t.Size+t.Newer)
		fmt.Fprintf(out, "%d newer events were not checked: no quorum of the policy has cosigned them yet\n", t.Newer)
	}
	fmt.Fprintf(out, "the signed log of results is consistent with the %d leaves in this tree\n", t.Results)
	if t.Continues != nil {
		fmt.Fprintf(out, "the tree continues the remembered head of %d events\n", *t.Continues)
	}
	for _, c := range t.Cosigned {
		fmt.Fprintf(out, "witness %s cosigned the tree of %d events at %s\n", c.Witness, *t.Witnessed, c.At)
	}
}
