package web

import (
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hexarena/adapters/rest"
)

// chooseTheme stores the reader's theme in a cookie, and redirects back to the page
// that sent the form.
func (p *pageRequest) chooseTheme(sent url.Values) error {
	chosen := sent.Get("theme")
	if chosen != "light" && chosen != "dark" {
		return refused(http.StatusUnprocessableEntity, "The theme must be light or dark.")
	}
	http.SetCookie(p.w, &http.Cookie{Name: "theme", Value: chosen, Path: "/", MaxAge: 365 * 24 * 3600, SameSite: http.SameSiteLaxMode})
	return p.seeOther(localPath(sent.Get("back")))
}

// chooseSpoilers stores in a cookie whether lists and replays hide results, and redirects
// back to the page that sent the form.
func (p *pageRequest) chooseSpoilers(sent url.Values) error {
	chosen := sent.Get("spoilers")
	if chosen != "hide" && chosen != "show" {
		return refused(http.StatusUnprocessableEntity, "The choice must be hide or show.")
	}
	http.SetCookie(p.w, &http.Cookie{Name: "spoilers", Value: chosen, Path: "/", MaxAge: 365 * 24 * 3600, SameSite: http.SameSiteLaxMode})
	return p.seeOther(localPath(sent.Get("back")))
}

// localPath returns path, or "/" if path could lead to another site.
func localPath(path string) string {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
		return "/"
	}
	return path
}

// funcs returns the functions for templates.
func funcs(a *assets) template.FuncMap {
	return template.FuncMap{
		"aborted": aborted,
		"asset":   a.path,
		"under":   strings.HasPrefix,
		"clean":   clean,
		"code": func(text []byte) template.HTML {
			return template.HTML(breakable(template.HTMLEscapeString(clean(string(text)))))
		},
		"why": func(message string) string { // the answer is the subject of a late answer's message
			if strings.HasPrefix(message, "came ") {
				message = "the answer " + message
			}
			return clean(message)
		},
		"word":      func(code string) template.HTML { return template.HTML(breakable(template.HTMLEscapeString(code))) },
		"sentence":  sentence,
		"seating":   seating,
		"shortTime": shortTime,
		"hour":      hour,
		"longTime":  longTime,
		"clock":     func(text string) string { return parseTime(text).Format(time.TimeOnly) },
		"decimal":   decimal,
		"counted": func(n int, what string) string {
			if n == 1 {
				return "1 " + what
			}
			return fmt.Sprintf("%d %ss", n, what)
		},
		"millis": func(ms int64) string {
			if ms == 0 {
				return "under 1 ms"
			}
			return fmt.Sprintf("%d ms", ms)
		},
		"percent":   func(share float64) string { return fmt.Sprintf("%.0f", 100*share) },
		"tenths":    func(x float64) string { return fmt.Sprintf("%.1f", x) },
		"seatMark":  seatMark,
		"delta":     delta,
		"length":    length,
		"markText":  markText,
		"matchRows": matchRows,
		"place":     place,
		"playerOf":  playerOf,
		"meanPlace": meanPlace,
		"outcome":   outcome,
		"indented":  indented,
		"title":     func(mode string) string { return strings.ToUpper(mode[:1]) + mode[1:] },
		"field":     func(f form, name string) fieldView { return fieldView{f, name} },
		"add":       func(a, b int) int { return a + b },
		"at": func(list []int, i int) int { // 0 if there is no such element
			if i < 0 || i >= len(list) {
				return 0
			}
			return list[i]
		},
		"today": func() string { return time.Now().UTC().Format(time.DateOnly) },

		"trialOutcome": trialOutcome,
		"winners":      winners,
		"shortID":      shortID,
	}
}

// marks contains the shapes of the seats: a disc, a triangle, a square, a diamond.
// static/board-art.mjs has the same shapes.
var marks = [...]string{"M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0", "M0-6 6 5H-6z", "M-4.6-4.6h9.2v9.2h-9.2z", "M0-6.4 6.4 0 0 6.4-6.4 0z"}

// seatMark returns the picture of a seat's mark. Unlike the marks on the board, it needs no
// script.
func seatMark(seat int) template.HTML {
	if seat < 0 || seat >= len(marks) {
		return ""
	}
	return template.HTML(fmt.Sprintf(`<svg viewBox="-8 -8 16 16" class="mark seat-%d" aria-hidden="true"><path d="%s"/></svg>`, seat, marks[seat]))
}

// markText explains the mark beside a seat. watch.mjs has the same words.
func markText(mark string) string {
	if mark == "missed" {
		return "missed: sent no answer"
	}
	return mark
}

// fieldView is one field of a form, for the templates "fault" and "fault-attributes".
type fieldView struct {
	Form form
	Name string
}

// Fault returns the error message of the field, or "". The API leaves out the subject of a
// message. static/site.mjs adds the same word.
func (f fieldView) Fault() string {
	message := f.Form.Refusal.For(f.Name)
	if strings.HasPrefix(message, "is ") || strings.HasPrefix(message, "must ") {
		return "This " + message
	}
	return message
}

// clean replaces control characters, and characters that change the direction of
// text, with U+FFFD. Registration rejects names with such characters, but old
// events in the log and messages from bots can contain them.
func clean(name string) string {
	if printable(name) {
		return name
	}
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) || r == unicode.ReplacementChar {
			return '\uFFFD'
		}
		return r
	}, name)
}

// The function printable() reports whether a text has only printable ASCII characters.
func printable(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// cleanLines is like clean, but keeps line breaks and tabs.
func cleanLines(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, line := range lines {
		cells := strings.Split(line, "\t")
		for n := range cells {
			cells[n] = clean(cells[n])
		}
		lines[i] = strings.Join(cells, "\t")
	}
	return strings.Join(lines, "\n")
}

// sentence turns the detail of a refusal into a sentence: it adds a capital letter
// and a full stop. Details from the API have neither.
func sentence(detail string) string {
	detail = clean(detail)
	if first, size := utf8.DecodeRuneInString(detail); size > 0 {
		detail = string(unicode.ToUpper(first)) + detail[size:]
	}
	if detail == "" || strings.ContainsAny(detail[len(detail)-1:], ".!?:") {
		return detail
	}
	return detail + "."
}

// seating returns a sentence that says when a bot gets its next table.
func seating(s *rest.BotSeating) string {
	return sentence(s.Words(func(at string) string { return formatTime(at, "2 Jan 15:04 UTC") }))
}

// The functions shortTime(), longTime() and date() format a time from the API in UTC.
// For any other text, they return "".
func shortTime(text string) string { return formatTime(text, "2 Jan 15:04") }
func longTime(text string) string  { return formatTime(text, "2 January 2006, 15:04 UTC") }
func date(text string) string      { return formatTime(text, "2 Jan 2006") }

func formatTime(text, layout string) string {
	t := parseTime(text)
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(layout)
}

// hour formats the hour of a time. The arena records the use of a key at most once an
// hour, so minutes would be false precision.
func hour(text string) string { return formatTime(text, "2 Jan, around 15:00 UTC") }

// interval formats a duration for a sentence that begins with "every".
func interval(d time.Duration) string {
	switch {
	case d == time.Second:
		return "second"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d%time.Second == 0 && d < 2*time.Minute:
		return fmt.Sprintf("%d seconds", d/time.Second)
	case d%time.Minute == 0:
		return fmt.Sprintf("%d minutes", d/time.Minute)
	}
	return d.String()
}

// decimal formats a rating.
func decimal(x float64) string { return strings.Replace(fmt.Sprintf("%.1f", x), "-", "−", 1) }

// delta formats a change with its sign, or as ±0 if it rounds to zero.
func delta(x float64) string {
	switch x = math.Round(x*10) / 10; {
	case x > 0:
		return fmt.Sprintf("+%.1f", x)
	case x < 0:
		return fmt.Sprintf("−%.1f", -x)
	}
	return "±0"
}

// place formats a placement, such as 1st.
func place(n *int) string {
	if n == nil {
		return "–"
	}
	return [...]string{"1st", "2nd", "3rd", "4th"}[*n-1] // a table has at most four seats
}
