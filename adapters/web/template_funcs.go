package web

import (
	"fmt"
	"html/template"
	"maps"
	"math"
	"net/http"
	"strings"
	"time"
	"unicode"
)

// chooseTheme keeps a reader's choice between light and dark for a year, and
// goes back to where it was made.
func (p *pageRequest) chooseTheme() error {
	sent, err := p.form()
	if err != nil {
		return err
	}
	chosen := sent.Get("theme")
	if chosen != "light" && chosen != "dark" {
		return refused(http.StatusUnprocessableEntity, "A theme is light or dark.")
	}
	http.SetCookie(p.w, &http.Cookie{Name: "theme", Value: chosen, Path: "/", MaxAge: 365 * 24 * 3600, SameSite: http.SameSiteLaxMode})
	return p.seeOther(within(sent.Get("back")))
}

// within is a path of the arena's own, or the home page's.
func within(path string) string {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
		return "/"
	}
	return path
}

// funcs are what templates may call.
func funcs(a *assets) template.FuncMap {
	all := template.FuncMap{
		"asset":    a.path,
		"under":    strings.HasPrefix,
		"clean":    clean,
		"sentence": sentence,
		"when":     when,
		"day":      day,
		"decimal":  decimal,
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
		"delta": delta,
		"place": place,
		"title": func(mode string) string { return strings.ToUpper(mode[:1]) + mode[1:] },
		"field": func(f form, name string) fieldView { return fieldView{f, name} },
		"add":   func(a, b int) int { return a + b },
		"today": func() string { return time.Now().UTC().Format(time.DateOnly) },
		"ended": func(t *string) string { return when(*t) },
	}
	maps.Copy(all, watchFuncs)
	return all
}

// fieldView is one field of a form, for the part that says what is wrong with it.
type fieldView struct {
	Form form
	Name string
}

// Fault is what is wrong with the field, or nothing.
func (f fieldView) Fault() string { return f.Form.Refusal.For(f.Name) }

// clean takes the sting out of a name that somebody chose: what controls, or
// what turns around the text beside it, is shown as a mark. Names are refused
// at registration where they hold such; this is for logs that hold them still.
func clean(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) || r == unicode.ReplacementChar {
			return '\uFFFD'
		}
		return r
	}, name)
}

// sentence is a refusal's detail as a page shows it: the API's have no full stop.
func sentence(detail string) string {
	detail = clean(detail)
	if detail == "" || strings.ContainsAny(detail[len(detail)-1:], ".!?:") {
		return detail
	}
	return detail + "."
}

// when is a time for a person, in UTC.
func when(text string) string {
	t := parseTime(text)
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2 Jan 15:04")
}

// decimal is a rating as it is shown.
func decimal(x float64) string { return strings.Replace(fmt.Sprintf("%.1f", x), "-", "−", 1) }

// delta is a change with its sign; one that rounds to nothing is ±0.
func delta(x float64) string {
	switch x = math.Round(x*10) / 10; {
	case x > 0:
		return fmt.Sprintf("+%.1f", x)
	case x < 0:
		return fmt.Sprintf("−%.1f", -x)
	}
	return "±0"
}

// place is a placement in words.
func place(n *int) string {
	if n == nil {
		return "–"
	}
	switch *n {
	case 1:
		return "1st"
	case 2:
		return "2nd"
	case 3:
		return "3rd"
	}
	return fmt.Sprintf("%dth", *n)
}
