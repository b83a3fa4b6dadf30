// Package try is the page Try a note: what a note that somebody types leads to. It keeps nothing.
package try

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/internal/service/web/frame"
	"github.com/wardcast/wardcast/internal/service/web/prediction"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/textproc"
)

//go:embed try.html
var html string

const maxForm = 256 << 10

// A temperature between these is no patient's in degrees Celsius, but may be one in Fahrenheit.
const leastFahrenheit, mostFahrenheit = 80, 115

type room struct {
	set     func() *scoring.Set
	explain classifier.Options
	view    *frame.Template
	workers sync.Pool
}

// New returns the routes of the page.
func New(p *frame.Page, set func() *scoring.Set, explain classifier.Options) []httpapi.Route {
	h := &room{set: set, explain: explain, view: p.Template(prediction.HTML, html)}
	predict := httpapi.Route{
		Pattern: "POST /try", Role: httpapi.Viewer, Predictions: true, Handler: httpapi.Answering(h.predict),
	}
	return []httpapi.Route{p.Route(h.empty), predict}
}

type view struct {
	Form, Errors map[string]string
	Complaints   []string
	Fields       []field
	Reading      *reading
	Row          *prediction.Row
	After        string // how the last word moved the prediction
}

type field struct {
	Name, Label, Mode string
	Choices           []string
	of, want          string // its name in notes, and what may be written; empty unless it holds one number
	Value, Error      string
}

// fields returns the fields of the form: those of every note, and those that the models of a set use beside.
func fields(set *scoring.Set) []field {
	list := []field{
		{Name: "age", Label: "Age", Mode: "numeric", of: "age", want: "a number of years, such as 82"},
		{Name: "sex", Label: "Sex", Choices: []string{"F", "M"}},
		{Name: "acuity", Label: "Acuity", Choices: []string{"1", "2", "3", "4", "5"}, of: "acuity", want: "1 to 5"},
		{Name: "bp", Label: "BP", Mode: "text"},
	}
	for _, v := range msg.VitalSigns() {
		mode := "numeric"
		if strings.Contains(v.Example, ".") {
			mode = "decimal"
		}
		if v.Unit != "mmHg" { // the pressures share a field
			list = append(list, field{
				Name: v.Name, Label: v.Short + v.Suffix, Mode: mode, of: "vitals." + v.Name, want: v.Example,
			})
		}
	}
	more := map[string][]string{} // the levels of each field
	for _, m := range set.Models {
		for _, a := range m.Aux() {
			if msg.SiteField(a.Name) {
				more[a.Name] = append(more[a.Name], a.Levels...)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(more)) {
		levels := slices.DeleteFunc(slices.Sorted(slices.Values(more[name])), func(l string) bool { return l == "" })
		list = append(list, field{
			Name:    msg.FieldsField + "." + name,
			Label:   frame.Capital(name),
			Mode:    "decimal",
			Choices: slices.Compact(levels),
		})
	}
	return list
}

// reading is what the model makes of a note's words.
type reading struct {
	Tokens []token
	Known  int
}

type token struct {
	Text, Terms, Status string
	Known               bool

	start int // in bytes of the note
}

type worker struct {
	scorer     *scoring.Scorer
	prediction msg.Prediction
}

func example() map[string]string {
	return map[string]string{
		"text": "82F found on floor by neighbour, ?long lie, confused since am, L arm weak, no headache, hx stroke, " +
			"lives alone, ambulating w frame",
		"complaint": "Fall", "age": "82", "sex": "F", "acuity": "2", "bp": "138/74", "hr": "104",
	}
}

func (h *room) empty(*http.Request) http.Handler { return h.view.View(h.form(map[string]string{})) }

func (h *room) predict(r *http.Request) http.Handler {
	r.Body = http.MaxBytesReader(nil, r.Body, maxForm)
	form := map[string]string{}
	err := r.ParseForm()
	if err == nil {
		for name, values := range r.PostForm {
			form[name] = strings.ToValidUTF8(values[0], "\uFFFD")
		}
	}
	if form["example"] != "" {
		form = example()
	}
	data := h.form(form)
	if err != nil {
		data.Errors["text"] = "The form did not come whole, or is too large."
	} else {
		h.fill(data)
	}
	if data.Row != nil {
		httpapi.AddFacts(r.Context(), "predictions", 1)
	}
	v := h.view.View(data)
	if len(data.Errors) > 0 {
		v.Status = http.StatusBadRequest
	}
	return v
}

func (h *room) form(form map[string]string) *view {
	data := &view{Form: form, Errors: map[string]string{}, Fields: fields(h.set())}
	for _, a := range h.set().About {
		if a.Complaint != "" {
			data.Complaints = append(data.Complaints, a.Complaint)
		}
	}
	slices.Sort(data.Complaints)
	for i := range data.Fields {
		data.Fields[i].Value = form[data.Fields[i].Name]
	}
	return data
}

func (h *room) fill(data *view) {
	note := data.note()
	if len(data.Errors) > 0 || strings.TrimSpace(note.Text) == "" {
		return
	}
	own, _ := h.workers.Get().(*worker)
	if set := h.set(); own == nil || own.scorer.Set != set {
		own = &worker{scorer: set.Scorer(h.explain)}
	}
	p := &own.prediction
	if err := own.scorer.Score(note, time.Now().UTC().Format(msg.TimeFormat), p); err != nil {
		_, data.Errors["text"] = scoring.Refusal(err)
		return
	}
	data.Row = prediction.NewRow(p, note)
	now := p.Admission()
	model, _ := own.scorer.Reading(p)
	data.Reading = read(model.Vectorizer().Transformer(), note.Text)
	if n := len(data.Reading.Tokens); n > 1 && !data.Row.P.None {
		last := &data.Reading.Tokens[n-1]
		without := *note
		without.Text = note.Text[:last.start]
		if before, ok := own.scorer.Probability(&without); ok {
			data.After = moved(last.Text, before, now)
		}
	}
	h.workers.Put(own)
}

// moved says how the last word that was typed moved a prediction, "" if it did not.
func moved(word string, before, after float64) string {
	was, is, verb := frame.Percent(before), frame.Percent(after), "rose"
	if was == is {
		return ""
	}
	if after < before {
		verb = "fell"
	}
	return fmt.Sprintf("After “%s” it %s from %s %% to %s %%.", word, verb, was, is)
}

// note returns the note of the form. What cannot be read is in Errors.
func (data *view) note() *msg.Note {
	form := data.Form
	n := &msg.Note{
		SchemaVersion: msg.SchemaVersion, VisitID: "try", Text: form["text"], Sex: form["sex"],
		Complaint: strings.TrimSpace(form["complaint"]),
	}
	if len(n.Text) > msg.MaxText {
		data.Errors["text"] = "The note is longer than 64 KiB."
	}
	if utf8.RuneCountInString(n.Complaint) > 200 {
		data.Errors["text"] = "The complaint is longer than 200 characters."
	}
	for i := range data.Fields {
		f := &data.Fields[i]
		text := strings.TrimSpace(f.Value)
		var err error
		switch {
		case text == "":
		case strings.HasPrefix(f.Name, msg.FieldsField+"."):
			v := msg.ParseValue(strings.Replace(text, ",", ".", 1))
			if _, number := v.Number(); !number {
				v = msg.Text(text)
			}
			if f.want = "at most 4 KiB"; len(text) > msg.MaxField {
				err = strconv.ErrRange
			}
			n.Fields.Set(strings.TrimPrefix(f.Name, msg.FieldsField+"."), v)
		case f.of != "":
			*n.Number(f.of), err = number(strings.Replace(text, ",", ".", 1))
			if v := n.Number(f.of).Value; f.of == "vitals.temp_c" && v >= leastFahrenheit && v <= mostFahrenheit {
				data.Errors[f.Name] = "Is that Fahrenheit? In degrees Celsius it is " +
					wording.Fixed((v-32)/1.8, 1) + "."
				f.Error = data.Errors[f.Name]
			}
		case f.Name == "bp":
			f.want = "two numbers, such as 138/74"
			high, low, _ := strings.Cut(text, "/")
			var wrong error
			n.Vitals.SBP, err = number(high)
			n.Vitals.DBP, wrong = number(low)
			err = errors.Join(err, wrong)
		}
		if err != nil {
			f.Error = "Write " + f.want + "."
			data.Errors[f.Name] = f.Error
		}
	}
	return n
}

func number(text string) (msg.Optional, error) {
	v, err := wording.Number(text)
	return msg.Some(v), err
}

func read(t *textproc.Transformer, text string) *reading {
	r := &reading{}
	for _, k := range t.Tokens(text) {
		status := cmp.Or(prediction.Tag(k.Status.String()), "stated")
		terms := lists.Map(k.Terms, prediction.Spoken)
		r.Tokens = append(r.Tokens, token{
			Text: text[k.Start:k.End], Terms: strings.Join(terms, ", "), Status: status, Known: k.Known, start: k.Start,
		})
		if k.Known {
			r.Known++
		}
	}
	return r
}
