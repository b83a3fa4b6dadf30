package waiting

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/waitlist"
	"github.com/wardcast/wardcast/internal/service/web/frame"
	"github.com/wardcast/wardcast/internal/service/web/prediction"
	"github.com/wardcast/wardcast/internal/wording"
)

// view is what the page shows.
type view struct {
	query  *waitlist.Query
	Failed string // why there is no list

	AsOf     time.Time
	Old      bool // it is not of now
	Ahead    int  // patients who are not in it, since they are to arrive later
	Waiting  int  // how many wait in all
	Found    *waitlist.Found
	Labels   bool   // may be seen
	Longest  string // how long one of them has waited at most
	Patience string
	Words    string
	Kinds    []kind
	Sorts    map[string]frame.Choice
	Menus    []menu
	Hidden   []frame.Choice // what the menus leave as it is
	Rows     []row
	Sites    bool     // patients of several sites wait
	Unnamed  []string // filters of the address that ask for a value that is not in their menu
	From, To int
	Earlier  string // the address of the page before this one, "" for none
	Later    string
	Next     int // how many Later has
	Chosen   *explained
	Gone     bool // the patient who was asked for does not wait
}

// kind is a button that shows some of those who match.
type kind struct {
	frame.Choice
	Count int
	Small bool // left out on a phone
}

// menu is a filter by a value.
type menu struct {
	Name, Label, All string
	Choices          []frame.Choice
}

// part is what a row says of a visit: it is drawn once.
type part struct {
	Chance, Moved       template.HTML
	Title, Said, Person string
}

// row is a patient of the list.
type row struct {
	*part
	*waitlist.Patient
	Href                string
	Waited, Clock       string
	Selected, LongestOf bool
}

// explained is the patient whose prediction is explained.
type explained struct {
	*prediction.Row
	Patient *waitlist.Patient
	Kept    bool // the explanation is kept
}

// address is that of the page with its filters.
func address(q *waitlist.Query) url.Values {
	v := url.Values{}
	for name, value := range map[string]string{
		"site": q.Site, "complaint": q.Complaint, "ward": q.Ward, "decision": q.Decision,
		"close": map[bool]string{true: "1"}[q.Close],
		"sort":  strings.TrimPrefix(string(q.Sort), string(waitlist.ByProbability)),
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v
}

// Here returns the address of the page with changes, of its first rows.
func (d *view) Here(changes ...string) string {
	return frame.Address(path, address(d.query), changes...)
}

// fill fills the page from a list. A row that is asked for is explained, else the first one.
func (h *room) fill(d *view, list *waitlist.List, asked string) {
	q := d.query
	q.Limit = httpapi.PageRows
	d.Found = list.Find(q)
	d.AsOf, d.Words, d.Waiting, d.Labels = list.AsOf, q.Words, list.Len(), q.Labels
	d.Sites = len(list.Names.Sites) > 1
	d.Ahead = list.Ahead
	d.Old = time.Since(list.AsOf) > oldAfter
	d.Patience = wording.Count(int(list.Patience.Round(time.Hour)/time.Hour), "hour")
	d.choices(&list.Names)
	var first time.Time // who of the rows has waited longest
	for _, p := range d.Found.Patients {
		if first.IsZero() || p.Arrived.Before(first) {
			first = p.Arrived
		}
	}
	if d.Found.Every.Total > 0 {
		d.Longest = hours(list.AsOf.Sub(d.Found.Every.First)) + " min"
	}
	var patient *waitlist.Patient
	if asked != "" {
		row, _ := strconv.ParseUint(asked, 10, 64) // 0 is no row
		patient = list.Row(row)
		d.Gone = patient == nil
	} else if len(d.Found.Patients) > 0 {
		patient = d.Found.Patients[0]
	}
	for _, p := range d.Found.Patients {
		d.Rows = append(d.Rows, row{
			part: h.part(p.Visit), Patient: p, Href: d.Here("row", strconv.FormatUint(p.Row, 10)),
			Waited: hours(list.AsOf.Sub(p.Arrived)), Clock: d.clock(h, p.Arrived),
			Selected: p == patient, LongestOf: p.Arrived.Equal(first),
		})
	}
	d.From, d.To = min(q.Offset+1, d.Found.Total), min(q.Offset+len(d.Rows), d.Found.Total)
	if q.Offset > 0 {
		d.Earlier = d.Here("offset", strings.TrimPrefix(strconv.Itoa(max(0, q.Offset-httpapi.PageRows)), "0"))
	}
	if d.Next = min(d.Found.Total-q.Offset-len(d.Rows), httpapi.PageRows); d.Next > 0 {
		d.Later = d.Here("offset", strconv.Itoa(q.Offset+httpapi.PageRows))
	}
	if patient != nil {
		r, kept := newRow(patient.Visit)
		d.Chosen = &explained{r, patient, kept}
	}
}

// oldAfter is how old a list may be before the page says so: what scorers and outcomes said since is not known.
const oldAfter = time.Minute

// clock returns when a patient arrived, with the day unless it is that of the list.
func (d *view) clock(h *room, t time.Time) string {
	local, now := t.In(h.Zone), d.AsOf.In(h.Zone)
	if local.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return local.Format("15:04")
	}
	return local.Format("2 Jan 15:04")
}

// hours returns how long somebody has waited, "1 h 05".
func hours(d time.Duration) string {
	minutes := max(0, int(d/time.Minute))
	return fmt.Sprintf("%d h %02d", minutes/60, minutes%60)
}

// choices fills in what can be chosen.
func (d *view) choices(names *waitlist.Names) {
	q, n := d.query, &d.Found.Every
	plain := q.Decision == "" && !q.Close
	add := func(label string, count int, current, small bool, decision, near string) {
		d.Kinds = append(d.Kinds, kind{frame.Choice{
			Name: d.Here("decision", decision, "close", near), Label: label, Current: current,
		}, count, small})
	}
	add("All", n.Total, plain, false, "", "")
	add("Likely admission", n.Admit, q.Decision == waitlist.Admit && !q.Close, false, waitlist.Admit, "")
	add("Close call", n.Close, q.Close && q.Decision == "", false, "", "1")
	add("Not predicted", n.None, q.Decision == waitlist.None, true, waitlist.None, "")
	if q.Decision == waitlist.Discharge {
		add("Likely discharge", d.Found.Total, true, true, waitlist.Discharge, "")
	}
	d.Sorts = map[string]frame.Choice{}
	for _, s := range waitlist.Sorts() {
		value := s
		if s == string(waitlist.ByProbability) {
			value = ""
		}
		d.Sorts[s] = frame.Choice{Name: d.Here("sort", value), Current: string(q.Sort) == s || q.Sort == "" &&
			value == ""}
	}
	d.menu(menu{Name: "site", Label: "Site", All: "Every site"}, names.Sites, q.Site)
	d.menu(menu{Name: "ward", Label: "Ward", All: "Every ward"}, names.Wards, q.Ward)
	d.menu(menu{Name: "complaint", Label: "Complaint", All: "Every complaint"}, names.Complaints, q.Complaint)
	for _, name := range []string{"decision", "close", "sort"} {
		if value := address(q).Get(name); value != "" {
			d.Hidden = append(d.Hidden, frame.Choice{Name: name, Label: value})
		}
	}
}

// menu adds a filter, if there is something to choose. The page says so of a value that is typed into the address but
// is not named: few have it, or nobody. It does not say which.
func (d *view) menu(m menu, names []string, now string) {
	found := now == ""
	for _, name := range names {
		current := now != "" && strings.EqualFold(name, now)
		found = found || current
		m.Choices = append(m.Choices, frame.Choice{Name: name, Label: name, Current: current})
	}
	if !found {
		m.Choices = append(m.Choices, frame.Choice{Name: now, Label: "Not listed", Current: true})
		d.Unnamed = append(d.Unnamed, strings.ToLower(m.Label))
	}
	if len(names) > 1 || now != "" {
		d.Menus = append(d.Menus, m)
	}
}

// newRow returns a visit as pages show a prediction, and whether what moved it is kept.
func newRow(v *waitlist.Visit) (r *prediction.Row, kept bool) {
	p := msg.Prediction{
		Complaint: v.Complaint, Probability: v.Probability, Threshold: v.Threshold, Decision: v.Decision,
		Abstained: v.Abstained,
	}
	_ = json.Unmarshal(v.Prediction, &p) // what has another form is left out
	return prediction.NewRow(&p, v.Note), v.Prediction != nil
}

// part returns what a row says of a visit.
func (h *room) part(v *waitlist.Visit) *part {
	h.mu.Lock()
	p := h.parts[v]
	h.mu.Unlock()
	if p != nil {
		return p
	}
	r, _ := newRow(v)
	p = &part{
		Chance: h.view.Part("chance", r), Moved: h.view.Part("moved", r), Title: r.Title, Person: r.Person,
		Said: r.Said(),
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.parts) >= mostParts {
		clear(h.parts)
	}
	h.parts[v] = p
	return p
}

const csvPath = "/v1/waiting.csv"

// csv answers with all who wait and match, for a spreadsheet. It names no visit and shows no label: what leaves the
// page tells patients apart by their arrival alone.
func (h *room) csv(r *http.Request) http.Handler {
	q, wrong := h.read(r)
	if wrong != nil {
		return *wrong
	}
	list, err := h.waiting.Waiting(r.Context())
	if wait := httpapi.NotKnown(err); wait != nil {
		return wait
	}
	if err != nil {
		return httpapi.Problem{Status: http.StatusServiceUnavailable}
	}
	q.Limit, q.Offset = list.Len(), 0
	out := httpapi.NewSheet("waiting.csv", "Arrived", "Minutes waited", "Complaint", "Age", "Sex", "Acuity", "Site",
		"Chance of admission", "Threshold", "Prediction", "Close call", "Ward, likely")
	number := func(v msg.Optional) string {
		if !v.Set {
			return ""
		}
		return wording.Short(v.Value, 2)
	}
	found := list.Find(q).Patients
	httpapi.AddFacts(r.Context(), "patients", len(found), "of", len(found))
	for _, p := range found {
		chance, said, near := wording.Fixed(p.Probability, 2), "Likely discharge", ""
		switch {
		case p.Abstained:
			chance, said = "", "Not predicted"
		case p.Admits():
			said = "Likely admission"
		}
		if p.Close() {
			near = "yes"
		}
		out.Add(p.Arrived.In(h.Zone).Format("2006-01-02 15:04"),
			strconv.Itoa(max(0, int(list.AsOf.Sub(p.Arrived)/time.Minute))), p.Complaint, number(p.Age), p.Sex,
			number(p.Acuity), p.Site, chance, wording.Fixed(p.Threshold, 2), said, near, p.Ward)
	}
	return out
}

// CSV returns the address of the sheet with the filters of the page.
func (d *view) CSV() string { return frame.Address(csvPath, address(d.query)) }
