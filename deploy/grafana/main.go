// Command grafana writes the Grafana dashboards of wardcast into the current folder: wardcast-now.json for those who
// are called at night, wardcast-week.json for a weekly review. Grafana reads them by provisioning or import.
//
// The expressions are held against the metrics of the program by TestDashboards in internal/service/app.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

//go:generate go run .

func main() {
	for _, b := range boards() {
		data, err := b.json()
		if err == nil {
			err = os.WriteFile(b.file(), data, 0o644) //nolint:gosec // everybody may read them, as all files here
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "grafana:", err)
			os.Exit(1)
		}
	}
}

// board is a dashboard.
type board struct {
	uid, title, text string
	from, refresh    string // the beginning of what is shown, and how often it is read again; "" for never
	rows             []row
}

// row is a group of panels under a heading.
type row struct {
	title  string
	closed bool // until somebody opens it
	panels []panel
}

func boards() []*board { return []*board{now(), week()} }

func (b *board) file() string { return b.uid + ".json" }

// json returns the dashboard as Grafana reads it.
func (b *board) json() ([]byte, error) {
	made, err := b.build()
	if err != nil {
		return nil, fmt.Errorf("making %s: %w", b.uid, err)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(made); err != nil {
		return nil, fmt.Errorf("writing %s: %w", b.uid, err)
	}
	return out.Bytes(), nil
}

//nolint:staticcheck // every Grafana that is in use provisions the first version of dashboards from files
func (b *board) build() (dashboard.Dashboard, error) {
	d := dashboard.NewDashboardBuilder(b.title).Uid(b.uid).Description(b.text).Tags([]string{tag}).Readonly().
		Time(b.from, "now").Timezone("browser").Refresh(b.refresh).Tooltip(dashboard.DashboardCursorSyncCrosshair).
		Link(dashboard.NewDashboardLinkBuilder("Dashboards of wardcast").Type(dashboard.DashboardLinkTypeDashboards).
			Tags([]string{tag}).IncludeVars(true)).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus")).
		Annotation(dashboard.NewAnnotationQueryBuilder().Name("New models").Datasource(source()).Enable(true).
			IconColor("blue").Expr(expression("changes(wardcast_model_reload_timestamp_seconds{$of}[2m]) > 0")).
			Step("60s").TitleFormat("{{instance}} took up new models"))
	for _, v := range variables() {
		d.WithVariable(v)
	}
	for _, r := range b.rows {
		of := dashboard.NewRowBuilder(r.title).Collapsed(r.closed)
		for i := range r.panels {
			if r.closed {
				of.WithPanel(&r.panels[i])
			}
		}
		d.WithRow(of)
		for i := range r.panels {
			if !r.closed {
				d.WithPanel(&r.panels[i])
			}
		}
	}
	made, err := d.Build()
	id := uint32(0)
	next := func() *uint32 { id++; return new(id) }
	for _, p := range made.Panels {
		if p.RowPanel != nil {
			p.RowPanel.Id = *next()
			for i := range p.RowPanel.Panels {
				p.RowPanel.Panels[i].Id = next()
			}
		} else {
			p.Panel.Id = next()
		}
	}
	return made, err
}
