package web

import (
	"bytes"
	"fmt"
	"image/png"
	"net/http"
	"net/url"
	"sync"

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

// maxPreviews is the maximum number of previews in the cache. They use about 5
// MB.
const maxPreviews = 64

// previewCache stores the latest previews of ended matches. It is safe for
// concurrent use, and the zero value is an empty cache. It draws one picture at a
// time, so that requests cannot use all processors.
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
	if p.images == nil {
		p.images = map[string][]byte{}
	}
	p.images[id] = image
	p.order = append(p.order, id)
	return image, nil
}

func (p *pageRequest) preview() error {
	m := p.matchRecord()
	if p.err != nil {
		return p.err
	}
	image, err := p.server.previews.get(m.ID, !m.Running(), func() ([]byte, error) { return p.newPreview(m) })
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

// newPreview reads the board of a match and its latest frame, and draws them.
func (p *pageRequest) newPreview(m matchRecord) ([]byte, error) {
	var first rest.Frames
	var latest match.Frame
	p.read("/matches/"+url.PathEscape(m.ID)+"/frames?limit=1", &first)
	p.read("/live/"+url.PathEscape(m.ID), &latest)
	if p.err != nil {
		return nil, p.err
	}
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&b, drawPreview(m, first.Board, latest)); err != nil {
		return nil, fmt.Errorf("preview of %s: %w", m.ID, err)
	}
	return b.Bytes(), nil
}
