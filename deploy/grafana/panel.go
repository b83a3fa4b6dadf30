package main

import (
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// tag is that of all dashboards, by which each links to the others.
const tag = "wardcast"

// kind is how a panel shows its queries.
type kind int

const (
	lines  kind = iota // over time
	bars               // over time, one on top of the other
	number             // the latest; its legend in place of the number if there is one
	states             // over time, as colours with a word each
	rows               // of a table, the latest
)

// panel is a panel.
type panel struct {
	kind        kind
	title, text string // the title, and a sentence or two on what it shows and when to act
	unit        string // Grafana's name of it
	width       uint32 // of 24
	queries     []query
	warn, bad   float64           // from here on a value is yellow, red; 0 for none
	below       bool              // a value below bad is red, all others are green
	signed      bool              // the axis need not show 0
	step        string            // the time between points, if it matters
	empty       string            // stands where there is no value
	words       []word            // of states
	columns     map[string]string // names of the columns of a table; Value is left out without one
}

// query is an expression, in which $of selects by job, instance and stream, $at by job and instance, and [$r] is the
// time over which Grafana takes rates.
type query struct {
	expr, legend string
}

// word stands for a value.
type word struct {
	value, text, color string
}

// Words of metrics that are 0 or 1.
var (
	readyWords = []word{{"1", "Ready", "green"}, {"0", "Not ready", "red"}}
	faultWords = []word{{"0", "No", "green"}, {"1", "Yes", "red"}}
)

// barStep is the least time between bars. The windows of two increases then hardly overlap.
const barStep = "5m"

// Heights of panels, in Grafana's units.
const (
	numberHeight = 4
	height       = 8
)

func expression(s string) string {
	const at = `job=~"$job", instance=~"$instance"`
	return strings.NewReplacer("$of", at+`, stream=~"$stream"`, "$at", at, "[$r]", "[$__rate_interval]").Replace(s)
}

// source is the data source that the reader chose.
func source() common.DataSourceRef {
	return common.DataSourceRef{Type: new("prometheus"), Uid: new("${datasource}")}
}

// variables are what a reader may choose besides the data source.
func variables() []*dashboard.QueryVariableBuilder {
	const builds = `{__name__=~"wardcast_build_info|wardcast_bridge_build_info"`
	variable := func(name, label, query string) *dashboard.QueryVariableBuilder {
		all := dashboard.StringOrArrayOfString{ArrayOfString: []string{"$__all"}}
		return dashboard.NewQueryVariableBuilder(name).Label(label).Datasource(source()).Definition(query).
			Query(dashboard.StringOrMap{Map: map[string]any{"query": query, "refId": name}}).
			Multi(true).IncludeAll(true).Refresh(dashboard.VariableRefreshOnTimeRangeChanged).
			Sort(dashboard.VariableSortAlphabeticalAsc).Current(dashboard.VariableOption{
			Selected: new(true), Text: dashboard.StringOrArrayOfString{ArrayOfString: []string{"All"}}, Value: all,
		})
	}
	return []*dashboard.QueryVariableBuilder{
		variable("job", "Job", "label_values("+builds+"}, job)"),
		variable("instance", "Instance", "label_values("+builds+`, job=~"$job"}, instance)`),
		variable("stream", "Stream", `label_values(wardcast_ingest_ready{job=~"$job", instance=~"$instance"}, stream)`),
	}
}

// Build returns the panel as the library makes it.
func (p *panel) Build() (dashboard.Panel, error) {
	made, err := p.visual().Build()
	if err != nil {
		return made, err
	}
	if made.FieldConfig == nil {
		made.FieldConfig = dashboard.NewFieldConfigSource()
	}
	made.Title, made.Description, made.Datasource = &p.title, &p.text, new(source())
	made.GridPos = &dashboard.GridPos{W: p.width, H: height}
	if p.kind == number {
		made.GridPos.H = numberHeight
	}
	d := &made.FieldConfig.Defaults
	switch {
	case p.step != "":
		made.Interval = &p.step
	case p.kind == bars:
		made.Interval = new(barStep)
	}
	if p.kind == bars {
		d.Decimals = new(0.0) // a counter's increase between two readings is not a whole number
	}
	d.Unit, d.Thresholds, d.Mappings = &p.unit, p.thresholds(), p.mappings()
	if p.empty != "" {
		d.NoValue = &p.empty
	}
	for i, q := range p.queries {
		t := prometheus.NewDataqueryBuilder().RefId(string(rune('A' + i))).Datasource(source()).Expr(expression(q.expr))
		if p.kind == rows {
			t.Instant().Format(prometheus.PromQueryFormatTable)
		} else {
			t.Range().LegendFormat(q.legend)
		}
		query, err := t.Build()
		if err != nil {
			return made, err
		}
		made.Targets = append(made.Targets, query)
	}
	return made, nil
}

// visual returns what differs between kinds.
func (p *panel) visual() cog.Builder[dashboard.Panel] {
	switch p.kind {
	case number:
		text := common.BigValueTextModeValue
		if p.queries[0].legend != "" {
			text = common.BigValueTextModeName
		}
		return stat.NewPanelBuilder().ColorMode(common.BigValueColorModeBackground).TextMode(text).
			GraphMode(common.BigValueGraphModeArea).
			ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"}))
	case states:
		return statetimeline.NewPanelBuilder().MergeValues(true).ShowValue(common.VisibilityModeNever)
	case rows:
		return table.NewPanelBuilder().Transformations([]dashboard.DataTransformerConfig{{
			Id: "organize",
			Options: map[string]any{
				"excludeByName": map[string]bool{"Time": true, "Value": p.columns["Value"] == ""},
				"renameByName":  p.columns,
			},
		}})
	}
	b := timeseries.NewPanelBuilder().FillOpacity(10).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti)).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).DisplayMode(common.LegendDisplayModeTable).
			Placement(common.LegendPlacementBottom).Calcs([]string{"lastNotNull", "max"}))
	if !p.signed {
		b.AxisSoftMin(0)
	}
	if p.bad != 0 {
		b.ThresholdsStyle(common.NewGraphThresholdsStyleConfigBuilder().Mode(common.GraphThresholdsStyleModeDashed))
	}
	if p.kind == bars {
		b.DrawStyle(common.GraphDrawStyleBars).FillOpacity(70).
			Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal))
	}
	return b
}

func (p *panel) thresholds() *dashboard.ThresholdsConfig {
	steps := []dashboard.Threshold{{Color: "green"}}
	switch {
	case p.below:
		steps = []dashboard.Threshold{{Color: "red"}, {Value: &p.bad, Color: "green"}}
	case p.warn == 0 && p.bad == 0:
		steps[0].Color = "blue" // neither good nor bad
	default:
		if p.warn != 0 {
			steps = append(steps, dashboard.Threshold{Value: &p.warn, Color: "yellow"})
		}
		if p.bad != 0 {
			steps = append(steps, dashboard.Threshold{Value: &p.bad, Color: "red"})
		}
	}
	return &dashboard.ThresholdsConfig{Mode: dashboard.ThresholdsModeAbsolute, Steps: steps}
}

func (p *panel) mappings() []dashboard.ValueMapping {
	if len(p.words) == 0 {
		return nil
	}
	options := map[string]dashboard.ValueMappingResult{}
	for i, w := range p.words {
		options[w.value] = dashboard.ValueMappingResult{Text: new(w.text), Color: new(w.color), Index: new(int32(i))}
	}
	return []dashboard.ValueMapping{{
		ValueMap: &dashboard.ValueMap{Type: dashboard.MappingTypeValueToText, Options: options},
	}}
}
