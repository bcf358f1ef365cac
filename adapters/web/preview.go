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

// What a preview is sized for: a card in a feed.
const (
	previewWidth  = 1200
	previewHeight = 630
)

// A preview's board, and how long it may be kept: that of an ended match does
// not change.
const (
	keepEnded   = "public, max-age=86400"
	keepRunning = "public, max-age=15"
)

// previews keeps the pictures of ended matches, the newest of them. It is safe
// for concurrent use; pictures are drawn one at a time.
type previews struct {
	mu    sync.Mutex
	kept  map[string][]byte // by match
	order []string          // oldest first
}

// maxPreviews bounds what is kept: about 5 MB.
const maxPreviews = 64

func newPreviews() *previews { return &previews{kept: map[string][]byte{}} }

// get returns a match's picture, drawn where it is not kept.
func (p *previews) get(id string, ended bool, draw func() ([]byte, error)) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if image, ok := p.kept[id]; ok {
		return image, nil
	}
	image, err := draw()
	if err != nil || !ended {
		return image, err
	}
	if len(p.order) == maxPreviews {
		delete(p.kept, p.order[0])
		p.order = p.order[1:]
	}
	p.kept[id] = image
	p.order = append(p.order, id)
	return image, nil
}

// ending is what a preview shows of a match: the last of its frames.
type ending struct {
	Hexes  []match.Hex  `json:"hexes"`
	Ports  []match.Port `json:"ports"`
	Roads  []match.Road
	Towns  []match.Town
	Bandit int
	Turn   int
}

func (p *pageRequest) preview(kept *previews) error {
	m, err := p.watched()
	if err != nil {
		return err
	}
	image, err := kept.get(m.ID, !m.Running(), func() ([]byte, error) {
		i, err := p.lastBoard(m.ID)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		encoder := png.Encoder{CompressionLevel: png.BestCompression}
		if err := encoder.Encode(&b, drawPreview(m, i)); err != nil {
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

// lastBoard asks for the board of a match, and its latest frame.
func (p *pageRequest) lastBoard(id string) (ending, error) {
	var ground struct {
		Board ending `json:"board"`
	}
	var frame struct {
		Roads []match.Road `json:"roads"`
		Towns []match.Town `json:"towns"`
		Turn  int          `json:"turn"`
		Board struct {
			Bandit int `json:"bandit"`
		} `json:"board"`
	}
	if err := p.get("/matches/"+url.PathEscape(id)+"/frames?limit=1", &ground); err != nil {
		return ending{}, err
	}
	if err := p.get("/live/"+url.PathEscape(id), &frame); err != nil {
		return ending{}, err
	}
	i := ground.Board
	i.Roads, i.Towns, i.Bandit, i.Turn = frame.Roads, frame.Towns, frame.Board.Bandit, frame.Turn
	return i, nil
}
