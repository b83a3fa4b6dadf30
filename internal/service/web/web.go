package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/service/health"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/topicindex"
)

//go:embed templates static
var files embed.FS

// Options say what the pages show.
type Options struct {
	Feed    *Feed
	Store   *models.Store
	Set     func() *scoring.Set // the generation in use
	Explain classifier.Options
	// Demand forecasts beds; nil if this process does not.
	Demand httpapi.BedDemand
	// Zone is that of the site's wall clock, on which the page Beds tells the time; nil is that of this machine.
	Zone *time.Location
	// Ready is that of httpapi.Options.
	Ready func() (remarks string, err error)
	// Health returns the state of the process.
	Health func() *health.Snapshot
	// Replay sends dead letters back.
	Replay Replay
	// Questionnaires returns the questionnaires whose responses are scored, by name.
	Questionnaires func() []Questionnaire
	// Changed is called when another generation was promoted.
	Changed func()
	// Topics searches the topics of all versions.
	Topics *topicindex.Index
	Logger *slog.Logger
}

// Pages serves the pages.
type Pages struct {
	options   Options
	templates map[string]*template.Template
	static    map[string]asset
	assets    string // changes with the style sheet or the script
	workers   sync.Pool
	cache     topicCache
	bedCache  bedCache
	facts     factCache
	replaying sync.Mutex
}

// asset is a static file.
type asset struct {
	kind        string
	data, small []byte // as it is, and compressed
}

// link is a page in the top bar.
type link struct {
	Path, Name string
	Current    bool
}

// links returns the pages in the order of the top bar.
func links(current string) []link {
	all := []link{{Path: "/", Name: "Live"}, {Path: "/beds", Name: "Beds"}, {Path: "/try", Name: "Try a note"}, {Path: "/topics", Name: "Topics"}, {Path: "/models", Name: "Models"}, {Path: "/questionnaires", Name: "Questionnaires"}, {Path: "/health", Name: "Health"}}
	for i := range all {
		all[i].Current = all[i].Name == current
	}
	return all
}

// New reads the templates and returns the pages.
func New(o Options) (*Pages, error) {
	if o.Feed == nil || o.Store == nil || o.Set == nil || o.Ready == nil || o.Health == nil || o.Replay == nil || o.Questionnaires == nil || o.Changed == nil || o.Topics == nil || o.Logger == nil {
		return nil, errors.New("web: all options are required")
	}
	if o.Zone == nil {
		o.Zone = time.Local
	}
	p := &Pages{options: o, templates: map[string]*template.Template{}, static: map[string]asset{}}
	functions := template.FuncMap{"stamp": stamp, "plural": plural, "capital": capital}
	frame, err := template.New("frame.html").Funcs(functions).ParseFS(files, "templates/frame.html")
	if err != nil {
		return nil, fmt.Errorf("reading the templates: %w", err)
	}
	for _, name := range []string{"live", "beds", "try", "topics", "models", "figures", "change", "text", "questionnaires", "health", "replay"} {
		page, err := frame.Clone()
		if err == nil {
			page, err = page.ParseFS(files, "templates/"+name+".html")
		}
		if err != nil {
			return nil, fmt.Errorf("reading the templates: %w", err)
		}
		p.templates[name] = page
	}
	return p, p.readStatic()
}

// readStatic reads the style sheet and the script.
func (p *Pages) readStatic() error {
	kinds := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
	entries, err := fs.ReadDir(files, "static")
	if err != nil {
		return fmt.Errorf("reading the assets: %w", err)
	}
	sum := sha256.New()
	for _, e := range entries {
		data, err := files.ReadFile("static/" + e.Name())
		if err != nil {
			return fmt.Errorf("reading the assets: %w", err)
		}
		if e.Name() == "wardcast.css" {
			data = append([]byte(chart.Style()), data...)
		}
		sum.Write(data)
		p.static[e.Name()] = asset{kinds[path.Ext(e.Name())], data, compressed(data, gzip.BestCompression)}
	}
	p.assets = hex.EncodeToString(sum.Sum(nil)[:6])
	return nil
}

// Routes returns the routes of the pages.
func (p *Pages) Routes() []httpapi.Route {
	route := func(pattern string, role httpapi.Role, predictions bool, f http.HandlerFunc) httpapi.Route {
		return httpapi.Route{Pattern: pattern, Role: role, Predictions: predictions, Handler: f}
	}
	stream := route("GET /live/feed", httpapi.Viewer, true, p.stream)
	stream.Stream = true
	return []httpapi.Route{
		route("GET /{$}", httpapi.Viewer, true, p.live), stream,
		route("GET /live/state", httpapi.Viewer, false, p.serveState),
		route("GET /beds", httpapi.Viewer, false, p.beds),
		route("GET /beds.csv", httpapi.Viewer, false, p.bedsCSV),
		route("GET /try", httpapi.Viewer, false, p.emptyTry),
		route("POST /try", httpapi.Viewer, true, p.try),
		route("GET /topics", httpapi.Viewer, false, p.topics),
		route("GET /topics.csv", httpapi.Viewer, false, p.topicsCSV),
		route("GET /topics/found.csv", httpapi.Viewer, false, p.foundCSV),
		route("GET /topics/history.csv", httpapi.Viewer, false, p.historyCSV),
		route("GET /models", httpapi.Viewer, false, p.models),
		route("GET /models/promote", httpapi.Operator, false, p.askPromote),
		route("POST /models/promote", httpapi.Operator, false, p.promote),
		route("GET /models/rollback", httpapi.Operator, false, p.askRollback),
		route("POST /models/rollback", httpapi.Operator, false, p.rollback),
		route("GET /models/{model}/{version}", httpapi.Viewer, false, p.figures),
		route("GET /models/{model}/{version}/figures.csv", httpapi.Viewer, false, p.figuresCSV),
		route("GET /models/{model}/{version}/report.json", httpapi.Viewer, false, p.reportJSON),
		route("GET /models/{model}/{version}/report", httpapi.Viewer, false, p.report),
		route("GET /models/{model}/{version}/card", httpapi.Viewer, false, p.card),
		route("GET /questionnaires", httpapi.Viewer, false, p.questionnaires),
		route("GET /questionnaires.csv", httpapi.Viewer, false, p.loadingsCSV),
		route("GET /questionnaires.json", httpapi.Viewer, false, p.loadingsJSON),
		route("GET /health", httpapi.Viewer, false, p.health),
		route("GET /health.csv", httpapi.Viewer, false, p.healthCSV),
		route("GET /health/replay", httpapi.Operator, false, p.askReplay),
		route("POST /health/replay", httpapi.Operator, false, p.replay),
		route("GET /static/{file}", httpapi.Anyone, false, p.asset),
	}
}

// view is a page to be written.
type view struct {
	template, title, here, class string
	status                       int // 0 is 200
	data                         any
}

// frame is what the frame of a page shows.
type frame struct {
	Title, Here, Class, Assets, Generation string
	Links                                  []link
	Now                                    time.Time
	State                                  state
	Data                                   any
}

// write answers with a page.
func (p *Pages) write(w http.ResponseWriter, r *http.Request, v view) {
	f := frame{
		Title: v.title, Here: v.here, Class: v.class, Assets: p.assets, Generation: p.options.Set().Generation, Links: links(v.here),
		Now: time.Now(), State: p.state(), Data: v.data,
	}
	if r.URL.Query().Get("wall") == "1" {
		f.Class += " wall"
	}
	var page bytes.Buffer
	if err := p.templates[v.template].ExecuteTemplate(&page, "frame", f); err != nil {
		p.options.Logger.Error("a page cannot be drawn", "page", v.template, "err", err)
		httpapi.Problem{Status: http.StatusInternalServerError}.ServeHTTP(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Referrer-Policy", "same-origin") // so that a form tells its origin
	h.Add("Vary", "Accept-Encoding")
	data := page.Bytes()
	if takesGzip(r) {
		h.Set("Content-Encoding", "gzip")
		data = compressed(data, gzip.DefaultCompression)
	}
	if v.status != 0 {
		w.WriteHeader(v.status)
	}
	_, _ = w.Write(data) // the client is gone
}

// renderRows writes rows for streams.
func (p *Pages) renderRows(list []*published, more int) []byte {
	var out bytes.Buffer
	data := struct {
		Rows []template.HTML
		More int
	}{More: more}
	for _, f := range list {
		p.draw(f)
		data.Rows = append(data.Rows, f.html)
	}
	if err := p.templates["live"].ExecuteTemplate(&out, "batch", data); err != nil {
		p.options.Logger.Error("rows cannot be drawn", "err", err)
		return nil
	}
	return out.Bytes()
}

// draw draws the row of a prediction, once for all pages and streams that show it.
func (p *Pages) draw(f *published) {
	f.once.Do(func() {
		r := f.row()
		f.html, f.kind = p.drawRow(r), r.Kind()
	})
}

func (p *Pages) drawRow(r *row) template.HTML {
	var out strings.Builder
	if err := p.templates["live"].ExecuteTemplate(&out, "row", r); err != nil {
		p.options.Logger.Error("a row cannot be drawn", "err", err)
		return ""
	}
	return template.HTML(out.String()) // which a template has written
}

// asset answers with a static file. Its address changes with its content, so that browsers may keep it.
func (p *Pages) asset(w http.ResponseWriter, r *http.Request) {
	a, ok := p.static[r.PathValue("file")]
	if !ok {
		httpapi.Problem{Status: http.StatusNotFound}.ServeHTTP(w, r)
		return
	}
	h, data := w.Header(), a.data
	h.Set("Content-Type", a.kind)
	h.Set("Vary", "Accept-Encoding")
	if r.URL.Query().Get("v") == p.assets {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if takesGzip(r) {
		h.Set("Content-Encoding", "gzip")
		data = a.small
	}
	_, _ = w.Write(data)
}

// takesGzip reports whether a client takes compressed answers.
func takesGzip(r *http.Request) bool {
	return slices.ContainsFunc(strings.Split(r.Header.Get("Accept-Encoding"), ","), func(s string) bool { return strings.TrimSpace(s) == "gzip" })
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

// missing answers that something a page is asked for is not there.
func (p *Pages) missing(w http.ResponseWriter, r *http.Request, here, message string) {
	back := map[string]string{"Beds": "/beds", "Topics": "/topics", "Models": "/models", "Questionnaires": "/questionnaires", "Health": "/health"}[here]
	p.write(w, r, view{template: "text", title: "Not found", here: here, status: http.StatusNotFound, data: text{Heading: "Not found", Message: message, Back: back, BackTo: "Back to " + here}})
}

// text is a page of plain text.
type text struct{ Heading, Sub, Back, BackTo, Text, Message string }
