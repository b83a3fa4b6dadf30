// Package web serves the pages for people. Each page is a room of its own below this folder: its handlers, its view,
// its template and their tests lie together. The table of pages stands here; the top bar, the routes and the tests in a
// browser read it. What all pages have in common is in package frame, how they show a prediction in package prediction.
// They ask no other host for anything. docs/pages.md says what each page answers.
package web

import (
	"net/http"
	"time"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/internal/questionnaire/responses"
	"github.com/wardcast/wardcast/internal/service/health"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	bedsroom "github.com/wardcast/wardcast/internal/service/web/beds"
	"github.com/wardcast/wardcast/internal/service/web/frame"
	healthroom "github.com/wardcast/wardcast/internal/service/web/health"
	"github.com/wardcast/wardcast/internal/service/web/live"
	modelsroom "github.com/wardcast/wardcast/internal/service/web/models"
	"github.com/wardcast/wardcast/internal/service/web/questionnaires"
	"github.com/wardcast/wardcast/internal/service/web/topics"
	"github.com/wardcast/wardcast/internal/service/web/try"
	"github.com/wardcast/wardcast/internal/service/web/waiting"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/models/topicindex"
)

// Options say what the pages show besides what the API serves, which has all its parts.
type Options struct {
	*httpapi.Options
	Feed    *live.Feed
	Clock   *bedsroom.Clock           // of all times
	Away    func() (time.Time, error) // when Kafka last answered, and why it does not now, or nil
	Health  func() *health.Snapshot   // returns the state of the process
	Replays healthroom.Replays        // of dead letters
	Index   *topicindex.Index         // searches the topics of all versions
	// Questionnaires returns the questionnaires whose responses are scored, by name.
	Questionnaires func() []*responses.Instrument
}

// Page is a page of the top bar, which viewers may see.
type Page struct {
	Path, Title string
	open        func(*frame.Page, *Options) []httpapi.Route
}

// Pages lists the pages in the order of the top bar.
func Pages() []Page {
	type page = frame.Page
	type routes = []httpapi.Route
	return []Page{
		{"/waiting", "Waiting", func(p *page, o *Options) routes { return waiting.New(p, o.Waiting, o.LabelRoles) }},
		{"/live", "Live", func(p *page, o *Options) routes { return live.New(p, o.Feed) }},
		{"/beds", "Beds", func(p *page, o *Options) routes { return bedsroom.New(p, o.Demand, o.Clock) }},
		{"/try", "Try a note", func(p *page, o *Options) routes {
			return try.New(p, o.Triage.Set, o.Triage.Explain)
		}},
		{"/topics", "Topics", func(p *page, o *Options) routes { return topics.New(p, o.Triage.Set, o.Index) }},
		{"/models", "Models", func(p *page, o *Options) routes {
			return modelsroom.New(p, o.Triage.Store, o.Triage.Set, o.Triage.Changed)
		}},
		{"/questionnaires", "Questionnaires", func(p *page, o *Options) routes {
			return questionnaires.New(p, o.Questionnaires)
		}},
		{"/health", "Health", func(p *page, o *Options) routes { return healthroom.New(p, o.Health, o.Replays, o.Trail) }},
	}
}

// state returns what the top bar says.
func (o *Options) state() frame.State {
	if since, err := o.Away(); err != nil {
		return frame.State{Text: "Kafka does not answer", Since: since.UnixMilli()}
	}
	if o.Triage.Set().Generation == "" {
		return frame.State{Text: "no model yet", NoModel: true}
	}
	if _, err := o.Ready(); err != nil {
		return frame.State{Text: "notes are not being read"}
	}
	for _, s := range o.Health().Streams {
		if s.Silent > 0 {
			silence := wording.Count(int(s.Silent.Minutes()), "minute")
			return frame.State{Ready: true, Text: "no " + s.Noun + " for " + silence}
		}
	}
	return frame.State{Ready: true, Text: o.Feed.PerMinute()}
}

// Routes returns the routes of all pages, and what draws a problem as a page.
func Routes(o Options) ([]httpapi.Route, func(httpapi.Problem) http.Handler) {
	f := frame.New(frame.Options{
		State:      o.state,
		Generation: func() string { return o.Triage.Set().Generation },
		Zone:       o.Clock.Zone,
		Logger:     o.Logger,
		Calibration: func(model, version string) *bundle.Calibration {
			if m := o.Triage.Set().Models[model]; m != nil && m.Info().Version == version {
				return m.Calibration()
			}
			return nil
		},
	})
	routes := []httpapi.Route{f.Static(), f.LogOut()}
	for _, p := range Pages() {
		routes = append(routes, p.open(f.Add(p.Path, p.Title), &o)...)
	}
	return routes, f.Problem
}
