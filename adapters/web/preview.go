package web

import (
	"bytes"
	"fmt"
	"image/png"
	"net/http"
	"net/url"
	"sync"

	"hexarena/domain/match"
)

// A preview has the size of a card in a social feed.
const (
	previewWidth  = 1200
	previewHeight = 630
)

// Cache-Control of a preview. That of an ended match does not change.
const (
	keepEnded   = "public, max-age=86400"
	keepRunning = "public, max-age=15"
)

// maxPreviews bounds the memory of the cache to about 5 MB.
const maxPreviews = 64

// previewCache holds the latest previews of ended matches. It is safe for concurrent
// use. It draws one picture at a time, so that requests cannot take all processors.
type previewCache struct {
	mu     sync.Mutex
	images map[string][]byte // by match
	order  []string          // match ids, oldest first
}

// get returns the preview of a match from the cache, or draws it.
func (p *previewCache) get(id string, ended bool, draw func() ([]byte, error)) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if image, ok := p.images[id]; ok {
		return image, nil
	}
	image, err := draw()
	if err != nil || !ended {
		return image, err
	}
	if len(p.order) == maxPreviews {
		delete(p.images, p.order[0])
		p.order = p.order[1:]
	}
	p.images[id] = image
	p.order = append(p.order, id)
	return image, nil
}

// previewBoard is the board of a match after its latest event.
type previewBoard struct {
	Hexes  []match.Hex  `json:"hexes"`
	Ports  []match.Port `json:"ports"`
	Roads  []match.Road `json:"-"`
	Towns  []match.Town `json:"-"`
	Bandit int          `json:"-"`
}

func (p *pageRequest) preview(cache *previewCache) error {
	m, err := p.matchRecord()
	if err != nil {
		return err
	}
	image, err := cache.get(m.ID, !m.Running(), func() ([]byte, error) {
		board, err := p.latestBoard(m.ID)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		encoder := png.Encoder{CompressionLevel: png.BestCompression}
		if err := encoder.Encode(&b, drawPreview(m, board)); err != nil {
			return nil, fmt.Errorf("preview of %s: %w", m.ID, err)
		}
		return b.Bytes(), nil
	})
	if err != nil {
		return err
	}
	p.w.Header().Set("Cache-Control", keepRunning)
	if !m.Running() {
		p.w.Header().Set("Cache-Control", keepEnded)
	}
	p.write(http.StatusOK, "image/png", image)
	return nil
}

// latestBoard reads the board of a match and its latest frame.
func (p *pageRequest) latestBoard(id string) (previewBoard, error) {
	var layout struct {
		Board previewBoard `json:"board"`
	}
	var frame struct {
		Roads []match.Road `json:"roads"`
		Towns []match.Town `json:"towns"`
		Board struct {
			Bandit int `json:"bandit"`
		} `json:"board"`
	}
	if err := p.get("/matches/"+url.PathEscape(id)+"/frames?limit=1", &layout); err != nil {
		return previewBoard{}, err
	}
	if err := p.get("/live/"+url.PathEscape(id), &frame); err != nil {
		return previewBoard{}, err
	}
	b := layout.Board
	b.Roads, b.Towns, b.Bandit = frame.Roads, frame.Towns, frame.Board.Bandit
	return b, nil
}
