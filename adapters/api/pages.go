package api

import (
	"html/template"
	"net/http"
	"strings"
)

// page is a small page of the sign-in: what a browser needs before there is a
// session, and without a script.
type page struct {
	title, text string
	parts       []template.HTML
}

type pageOutput struct{ Body page }

type signInQuery struct {
	Sent string `query:"sent" enum:"1"`
}

type confirmQuery struct {
	Token string `query:"token" required:"true"`
}

var frame = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>{{.Title}} · Hex Arena</title></head>
<body><main><h1>{{.Title}}</h1>
<p>{{.Text}}</p>
{{range .Parts}}{{.}}
{{end}}</main></body>
</html>
`))

var addressForm = template.HTML(`<form method="post" action="/sign-in"><label>E-mail address <input type="email" name="email" required autocomplete="email"></label> <button>Send me a link</button></form>`)

var tokenForm = template.Must(template.New("token").Parse(
	`<form method="post" action="` + ConfirmPath + `"><input type="hidden" name="token" value="{{.}}"><button>Sign in</button></form>`))

func signInPage(_ *call, in *signInQuery) (*pageOutput, error) {
	if in.Sent != "" {
		return &pageOutput{page{title: "Look at your mail", text: "If the address takes mail, a link is on its way. It works once, for 15 minutes."}}, nil
	}
	return &pageOutput{page{title: "Sign in", text: "We mail you a link; there is no password.", parts: []template.HTML{addressForm}}}, nil
}

// confirmPage consumes nothing, so that a program that follows the links in
// mails does not sign in.
func confirmPage(_ *call, in *confirmQuery) (*pageOutput, error) {
	form, err := executed(tokenForm, in.Token)
	if err != nil {
		return nil, err
	}
	return &pageOutput{page{title: "Sign in", text: "One more step: press the button.", parts: []template.HTML{form}}}, nil
}

// executed renders a part; what it is given is escaped.
func executed(t *template.Template, data any) (template.HTML, error) {
	var b strings.Builder
	err := t.Execute(&b, data)
	return template.HTML(b.String()), err
}

func writePage(w http.ResponseWriter, status int, title, text string, parts ...template.HTML) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	w.WriteHeader(status)
	_ = frame.Execute(w, struct { // who went away needs no page
		Title, Text string
		Parts       []template.HTML
	}{title, text, parts})
}
