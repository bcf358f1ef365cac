package web

import (
	"bytes"
	"fmt"
	"image/png"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"hexarena/adapters/rest"
	"hexarena/domain/match"
)

// The size of a preview, in pixels. Social media show pictures of this size as
// cards.
const (
	previewWidth  = 1200
	previewHeight = 630
)

// The Cache-Control headers of previews. The preview of an ended match never
// changes.
const (
	keepEnded   = "public, max-age=86400"
	keepRunning = "public, max-age=15"
)

const (
	// previewAge is how long the preview of a running match is shown before the
	// arena looks for a newer frame.
	previewAge = 15 * time.Second
	// A preview that must be drawn counts as previewCalls additional calls.
	previewCalls = 14
	// maxPreviews is the maximum number of stored previews. They use about 3 MB.
	maxPreviews = 64
)

// preview is the picture of a match after one event.
type preview struct {
	image   []byte
	seq     int // of the event
	ended   bool
	checked time.Time // when this was the newest frame of the match
}

// The method shows() reports whether the preview shows a frame.
func (v preview) shows(seq int, ended bool) bool {
	return v.image != nil && v.seq == seq && v.ended == ended
}

// The type previews stores the latest previews. It draws each frame at most once.
// Readers of stored previews never wait for a drawing. It is safe for concurrent use.
type previews struct {
	drawing singleflight.Group

	mu     sync.Mutex
	stored map[string]preview // by match
	order  []string           // match ids, oldest first
}

func newPreviews() *previews { return &previews{stored: map[string]preview{}} }

func (k *previews) find(id string) preview {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.stored[id]
}

func (k *previews) store(id string, v preview) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, known := k.stored[id]; !known {
		k.order = append(k.order, id)
	}
	k.stored[id] = v
	if len(k.order) > maxPreviews {
		delete(k.stored, k.order[0])
		k.order = k.order[1:]
	}
}

// draw draws a preview, or waits for another request that draws the same frame.
func (k *previews) draw(id string, v preview, encode func() ([]byte, error)) (preview, error) {
	drawn, err, _ := k.drawing.Do(fmt.Sprint(id, " ", v.seq, " ", v.ended), func() (any, error) {
		if stored := k.find(id); stored.shows(v.seq, v.ended) {
			return stored, nil // drawn in the meantime
		}
		var err error
		if v.image, err = encode(); err == nil {
			k.store(id, v)
		}
		return v, err
	})
	return drawn.(preview), err
}

func (p *pageRequest) preview() error {
	id := p.r.PathValue("id")
	v := p.server.previews.find(id)
	if !v.ended && p.server.Now().Sub(v.checked) >= previewAge {
		var err error
		if v, err = p.newPreview(id, v); err != nil {
			return err
		}
	}
	p.w.Header().Set("Cache-Control", keepRunning)
	if v.ended {
		p.w.Header().Set("Cache-Control", keepEnded)
	}
	p.write(http.StatusOK, "image/png", v.image)
	return nil
}

// newPreview returns the preview of a match's newest frame. If the stored preview does
// not show that frame, newPreview draws a new one, and the request counts as additional
// calls.
func (p *pageRequest) newPreview(id string, stored preview) (preview, error) {
	now := p.server.Now()
	m := p.matchRecord()
	var latest match.Frame
	p.read("/live/"+url.PathEscape(id), &latest)
	if p.err != nil {
		return preview{}, p.err
	}
	if stored.shows(latest.Seq, !m.Running()) {
		stored.checked = now
		p.server.previews.store(id, stored)
		return stored, nil
	}
	if err := p.heavy(previewCalls); err != nil {
		return preview{}, err
	}
	var first rest.Frames
	p.read("/matches/"+url.PathEscape(id)+"/frames?limit="+setupFrames, &first)
	if p.err != nil {
		return preview{}, p.err
	}
	shown := latest
	if !m.Running() {
		shown = afterSetup(first.Frames)
	}
	return p.server.previews.draw(id, preview{seq: latest.Seq, ended: !m.Running(), checked: now}, func() ([]byte, error) {
		return encodePreview(m, first.Board, shown)
	})
}

// setupFrames is more than the number of frames in the setup of a match.
const setupFrames = "60"

// afterSetup returns the last frame of the setup. The preview of an ended match shows this
// frame, because links to a match must not show its end.
func afterSetup(frames []match.Frame) (last match.Frame) {
	for _, f := range frames {
		if f.Turn > 0 {
			break
		}
		last = f
	}
	return last
}

// encodePreview draws a preview as PNG. Better compression would save little, but take
// several times as long.
func encodePreview(m matchRecord, b rest.BoardLayout, f match.Frame) ([]byte, error) {
	var encoded bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := encoder.Encode(&encoded, paletted(drawPreview(m, b, f))); err != nil {
		return nil, fmt.Errorf("preview of %s: %w", m.ID, err)
	}
	return encoded.Bytes(), nil
}
