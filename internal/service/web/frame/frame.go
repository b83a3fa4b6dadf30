// Package frame is what all pages have in common: the document around them with the top bar, the style sheet and the
// script, and how numbers and times are written on them. Pages lie in rooms of their own, which stand on this package
// and never on each other.
//
// A room embeds its template, which defines "page", and answers each request with a View of it, or with a problem, CSV
// or JSON of package httpapi. In templates an indented line continues the one before it: neither the line break nor the
// indentation reaches the page, but for a space before what is not an element.
package frame

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"html/template"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/wording"
)

var (
	//go:embed frame.html
	document string
	//go:embed problem.html
	problemPage string
	//go:embed static/wardcast.css
	style string
	//go:embed static/wardcast.js
	script []byte
)

// Options say what the frame shows around each page.
type Options struct {
	State      func() State
	Generation func() string  // in use
	Zone       *time.Location // of all times; nil is UTC
	// Calibration returns that of a version of a model, nil if it is not in use; nil knows none.
	Calibration func(model, version string) *bundle.Calibration
	Logger      *slog.Logger
}

// State is what the top bar says.
type State struct {
	Ready bool   `json:"ready"`
	Text  string `json:"text"`
	// NoModel says that notes wait for a first generation.
	NoModel bool  `json:"-"`
	Since   int64 `json:"since,omitempty"` // when it was last ready, in milliseconds; 0 if it is, or that is not known
}

// Frame draws pages.
type Frame struct {
	Options
	base   *template.Template
	pages  []*Page
	wrong  *Template // of problems
	static map[string]asset
	assets string // changes with the style sheet or the script
}

// Page is a page of the top bar, which viewers may see.
type Page struct {
	*Frame
	Path, Title string
}

// Template is the document with the template of a page.
type Template struct {
	page *Page
	set  *template.Template
}

// New returns a frame without pages.
func New(o Options) *Frame {
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	f := &Frame{Options: o}
	f.base = template.Must(template.New("").Funcs(f.functions()).Parse(joined(document)))
	f.static, f.assets = readStatic()
	f.wrong = (&Page{Frame: f, Title: "Pages"}).Template(problemPage)
	return f
}

// Add adds a page at the end of the top bar.
func (f *Frame) Add(path, title string) *Page {
	p := &Page{Frame: f, Path: path, Title: title}
	f.pages = append(f.pages, p)
	return p
}

// Template returns the document with these templates, of which one defines "page". It panics if one cannot be read.
func (p *Page) Template(texts ...string) *Template {
	set := template.Must(p.base.Clone())
	for _, text := range texts {
		template.Must(set.Parse(joined(text)))
	}
	return &Template{p, set}
}

// An indented line continues the one before.
var (
	elements = regexp.MustCompile(`\n[\t ]+([<{])`)
	words    = regexp.MustCompile(`\n[\t ]+`)
)

func joined(text string) string {
	return words.ReplaceAllString(elements.ReplaceAllString(text, "$1"), " ")
}

// Route returns the route of the page itself.
func (p *Page) Route(answer httpapi.Answering) httpapi.Route { return Get(p.Path, answer) }

// Get returns a route below a page, which viewers may ask for.
func Get(path string, answer httpapi.Answering) httpapi.Route {
	return httpapi.Route{Pattern: "GET " + path, Role: httpapi.Viewer, Handler: answer}
}

// Address returns the address of a path with values, and changes to them: names and values by turns, "" to take one
// out.
func Address(path string, values url.Values, changes ...string) string {
	values = maps.Clone(values)
	for i := 0; i < len(changes); i += 2 {
		values.Del(changes[i])
		if changes[i+1] != "" {
			values.Set(changes[i], changes[i+1])
		}
	}
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

// Choice is an entry of a menu with its value, or an address with its text.
type Choice struct {
	Name, Label string
	Current     bool
}

// View is an answer with a page.
type View struct {
	*Template
	Title, Class string
	Status       int  // 0 is 200
	Plain        bool // says nothing of the state
	Data         any
}

// View returns the page with data.
func (t *Template) View(data any) *View { return &View{Template: t, Title: t.page.Title, Data: data} }

// Missing returns the answer that something a page is asked for is not there.
func (p *Page) Missing(detail string) http.Handler {
	return httpapi.Problem{Status: http.StatusNotFound, Detail: detail}
}

// Problem draws a problem as a page, which says who is logged in and leads back.
func (f *Frame) Problem(p httpapi.Problem) http.Handler {
	return httpapi.Answering(func(r *http.Request) http.Handler {
		data := struct {
			httpapi.Problem
			Heading string
			Caller  httpapi.Caller
			Back    *Page
		}{p, wording.Capital(strings.ToLower(http.StatusText(p.Status))), httpapi.CallerOf(r.Context()), f.pages[0]}
		switch p.Status {
		case http.StatusBadRequest:
			data.Heading = "Not understood"
		case http.StatusUnauthorized:
			data.Heading = "Not logged in"
		case http.StatusForbidden:
			data.Heading = "Not allowed"
		}
		for _, page := range f.pages {
			if strings.HasPrefix(r.URL.Path, page.Path+"/") {
				data.Back = page
			}
		}
		if p.Field != "" {
			data.Detail = p.Field + ": " + p.Detail
		}
		if data.Detail != "" {
			data.Detail = wording.Capital(strings.TrimSuffix(data.Detail, ".")) + "."
		}
		v := f.wrong.View(data)
		v.Title, v.Status, v.Plain = data.Heading, p.Status, true
		return v
	})
}

// LogOut returns the route that ends a login: a browser forgets one that is refused, and asks for another.
func (f *Frame) LogOut() httpapi.Route {
	return httpapi.Route{Pattern: "GET /logout", Role: httpapi.Anyone, Handler: httpapi.Answering(
		func(r *http.Request) http.Handler {
			who, left := httpapi.CallerOf(r.Context()), r.URL.Query()
			switch {
			case who.Name == "" && who.Role != httpapi.Anyone:
				return http.RedirectHandler("/", http.StatusSeeOther) // there are no logins
			case len(left) == 0 && who.Name != "":
				return http.RedirectHandler("/logout?"+url.Values{"from": {who.Name}}.Encode(), http.StatusSeeOther)
			case who.Name != left.Get("from"):
				return http.RedirectHandler("/", http.StatusSeeOther)
			}
			return httpapi.LogIn("you are logged out")
		})}
}

// ServeHTTP sends the page.
func (v *View) ServeHTTP(w http.ResponseWriter, r *http.Request) { v.Draw(r).ServeHTTP(w, r) }

// Drawn is a page as it is sent, to one or to many.
type Drawn struct {
	status      int
	data, small []byte // as it is, and compressed
}

// Draw draws the page as a request asks for it. An answer that is not a Drawn says that it cannot be drawn.
func (v *View) Draw(r *http.Request) http.Handler {
	page := v.page
	data := struct {
		*View
		Here       *Page
		Pages      []*Page
		Assets     string
		Generation string
		Now        time.Time
		State      State
		Zone       *time.Location
		ZoneName   string
		Caller     httpapi.Caller
	}{
		View: v, Here: page, Pages: page.pages, Assets: page.assets, Generation: page.Generation(), Now: time.Now(),
		State: page.State(), Zone: page.Zone, Caller: httpapi.CallerOf(r.Context()),
		ZoneName: strings.ReplaceAll(path.Base(page.Zone.String()), "_", " "), // New York
	}
	if r.URL.Query().Get("wall") == "1" {
		v.Class += " wall"
	}
	var out bytes.Buffer
	if err := v.set.ExecuteTemplate(&out, "frame", data); err != nil {
		page.Logger.Error("a page cannot be drawn", "page", v.Title, "err", err)
		return httpapi.Problem{Status: http.StatusInternalServerError}
	}
	whole := visible(&out)
	return &Drawn{v.Status, whole, compressed(whole, gzip.DefaultCompression)}
}

// ServeHTTP sends the page.
func (d *Drawn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Referrer-Policy", "same-origin") // so that a form sends its origin
	send(w, r, d.status, d.data, d.small)
}

// Part draws one of the templates for a stream, or for several pages.
func (t *Template) Part(name string, data any) template.HTML {
	var out bytes.Buffer
	if err := t.set.ExecuteTemplate(&out, name, data); err != nil {
		t.page.Logger.Error("a part of a page cannot be drawn", "part", name, "err", err)
		return ""
	}
	return template.HTML(visible(&out)) //nolint:gosec // a template has escaped it
}

// visible returns HTML that shows what wording.Visible escapes. A reader of HTML makes ends of lines LF itself.
func visible(out *bytes.Buffer) []byte {
	text := strings.ReplaceAll(out.String(), "\r\n", "\n")
	return []byte(wording.VisibleLines(strings.ReplaceAll(text, "\r", "\n")))
}

type asset struct {
	kind        string
	data, small []byte // as it is, and compressed
}

// unsaid is what a browser does not need of a style sheet: comments, line breaks and indentation.
var unsaid = regexp.MustCompile(`(?s)/\*.*?\*/|\n\s*`)

func readStatic() (static map[string]asset, sum string) {
	sheet := []byte(unsaid.ReplaceAllString(string(chart.Style())+style, ""))
	whole := sha256.Sum256(slices.Concat(sheet, script))
	return map[string]asset{
		"wardcast.css": {"text/css; charset=utf-8", sheet, compressed(sheet, gzip.BestCompression)},
		"wardcast.js":  {"text/javascript; charset=utf-8", script, compressed(script, gzip.BestCompression)},
	}, hex.EncodeToString(whole[:6])
}

// Static returns the route of the static files, whose addresses change with their content so that browsers keep them.
func (f *Frame) Static() httpapi.Route {
	return httpapi.Route{Pattern: "GET /static/{file}", Role: httpapi.Anyone, Handler: httpapi.Answering(f.file)}
}

func (f *Frame) file(r *http.Request) http.Handler {
	a, ok := f.static[r.PathValue("file")]
	if !ok {
		return httpapi.Problem{Status: http.StatusNotFound}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", a.kind)
		if r.URL.Query().Get("v") == f.assets {
			w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		send(w, r, 0, a.data, a.small)
	})
}

// send sends data, compressed to those who take that.
func send(w http.ResponseWriter, r *http.Request, status int, data, small []byte) {
	w.Header().Add("Vary", "Accept-Encoding")
	for kind := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(kind) != "gzip" {
			continue
		}
		w.Header().Set("Content-Encoding", "gzip")
		data = small
		break
	}
	if status != 0 {
		w.WriteHeader(status)
	}
	_, _ = w.Write(data) // the client is gone
}

func compressed(data []byte, level int) []byte {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, level)
	if err != nil {
		return nil // no level of ours
	}
	_, _ = z.Write(data) // a buffer takes everything
	_ = z.Close()
	return out.Bytes()
}
