package web

import (
	"html/template"
	"net/url"
	"strconv"
	"strings"
)

// matchRows returns a list item for each match. It does not use a template, because
// a template took two thirds of the CPU time of a page of matches.
func matchRows(list []summary) template.HTML {
	var b rowWriter
	for _, m := range list {
		b.match(m)
	}
	return template.HTML(b.String()) //nolint:gosec // text and path escape everything
}

// rowWriter writes HTML. Its methods return the writer, so that calls can be chained.
type rowWriter struct{ strings.Builder }

// raw writes HTML.
func (b *rowWriter) raw(html string) *rowWriter {
	b.WriteString(html)
	return b
}

// text writes text. Names from old events may contain control characters.
func (b *rowWriter) text(text string) *rowWriter {
	return b.raw(template.HTMLEscapeString(clean(text)))
}

// path writes a segment of a path.
func (b *rowWriter) path(id string) *rowWriter { return b.text(url.PathEscape(id)) }

func (b *rowWriter) match(m summary) {
	b.raw(`
<li class="match"><a class="when" href="/watch/`).path(m.ID).raw(`">`)
	if m.Status == "running" {
		b.raw(`<span class="tag running">live</span>`)
	}
	if m.StartedAt != "" {
		b.raw(`<time datetime="`).text(m.StartedAt).raw(`" title="`).text(m.StartedAt).raw(`">`).text(shortTime(m.StartedAt)).raw(`</time>`)
	}
	b.raw(`</a>
<span class="tag">`).text(m.Mode).raw(`</span>`)
	if m.Status == "aborted" {
		b.raw(` <span class="tag aborted">`).text(aborted(m.Reason)).raw(`</span>`)
	}
	if l := length(m); l != "" {
		b.raw(` <span class="quiet length">`).text(l).raw(`</span>`)
	}
	b.raw(`
<ol class="players">`)
	for _, p := range m.Players {
		b.player(m, p)
	}
	b.raw(`</ol></li>`)
}

// player writes a player of a match. The elements of the class spoiler show the result;
// style.css hides them if the reader wants.
func (b *rowWriter) player(m summary, p player) {
	seat := strconv.Itoa(p.Seat)
	b.raw(`<li><span class="seatno seatno-`).raw(seat).raw(`" aria-hidden="true">`).raw(seat).raw(`</span><a class="name" href="/bot/`).path(p.BotID).raw(`"><bdi>`).text(p.BotName).raw(`</bdi></a>`)
	if p.Placement != nil {
		class := "quiet"
		if *p.Placement == 1 {
			class = "won"
		}
		b.raw(` <span class="spoiler `).raw(class).raw(`">`).text(place(p.Placement))
		if p.Seat < len(m.Scores) {
			b.raw(", ").raw(strconv.Itoa(m.Scores[p.Seat])).raw(" points")
		}
		if p.RatingDelta != nil {
			b.raw(", ").text(delta(*p.RatingDelta))
		}
		b.raw(`</span>`)
	}
	if mark := m.Mark(p.Seat); mark != "" {
		b.raw(` <span class="spoiler"><span class="tag bad">`).text(markText(mark)).raw(`</span></span>`)
	}
	b.raw(`</li>`)
}
