package topics

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/drift"
	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/internal/service/web/webtest"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/topicindex"
)

// TestPage: topics are found by words and by likeness, in the model and in all versions, on the page and as CSV.
func TestPage(t *testing.T) {
	t.Parallel()
	s := webtest.New(t)
	store, _, set := webtest.Store(t)
	served := set.Models[bundle.Other].Info().Version
	versions, err := store.Versions(t.Context(), bundle.Other)
	if err != nil || len(versions) != 2 || versions[0] != served {
		t.Fatal(versions, err)
	}
	other := versions[1]
	use := func() *scoring.Set { return set }
	s.Serve(New(s.Page("/topics", "Topics"), use, webtest.Topics(t, store)))
	long := strings.Repeat("x", 501)
	s.Check(map[string]webtest.Case{
		"all":           {Path: "/topics", Status: 200, Has: "Map of 1 topic"},
		"unknown model": {Path: "/topics?model=x", Status: 404, Has: "Not found"},
		"words":         {Path: "/topics?q=hip", Status: 200, Has: "1 topic with"},
		"toward admission": {
			Path: "/topics?direction=admission", Status: 200, Has: `aria-current="true">hips · pain</a>`,
		},
		"toward discharge": {
			Path: "/topics?direction=discharge", Status: 200, Has: "This model has no topics",
		},
		"CSV":                     {Path: "/topics.csv?model=_other", Status: 200, Has: "_other,", Lacks: "<"},
		"CSV of an unknown model": {Path: "/topics.csv", Status: 404, Has: "Not found"},
		"facets and versions": {
			Path: "/topics?q=hips&version=" + served, Status: 200, Has: "20 Nov 2026 02:00 · ",
		},
		"too long a search": {
			Path: "/topics?q=" + long, Status: 400, Has: "The search is too long", Lacks: "xxx",
		},
		"too long a search as CSV": {
			Path: "/topics/found.csv?q=" + long, Status: 400, Has: "is too long", Lacks: "xxx",
		},
		"did you mean":        {Path: "/topics?q=hipp", Status: 200, Has: `<a href="/topics?q=hip">hip</a>`},
		"topics like one":     {Path: "/topics?like=_other/1", Status: 200, Has: "Topics like 1 of All complaints"},
		"topics like none":    {Path: "/topics?like=nobody/1", Status: 200, Has: "There is no such topic."},
		"found topics as CSV": {Path: "/topics/found.csv?q=hip", Status: 200, Has: "_other,", Lacks: "<"},
		"a topic over versions as CSV": {
			Path: "/topics/history.csv?topic=_other/1", Status: 200, Has: "_other," + served, Lacks: "<",
		},
		"no topic over versions": {Path: "/topics/history.csv?topic=x/1", Status: 404, Has: "There is no such topic."},
		"no name of a topic":     {Path: "/topics/history.csv", Status: 404, Has: "There is no such topic."},
		"not served": {
			Path: "/topics?q=hip", Status: 200, Has: `<span class="st n">not served</span>`,
		},
		"a topic of another version": {
			Path: "/topics?beside=_other/" + other + "/1", Status: 200,
			Has: `<td class="num" data-value="2">&#43;2.00</td>`, // its coefficient
		},
		"a topic that is not there": {
			Path: "/topics?beside=_other/x/1", Status: 200, Has: "Map of 1 topic", Lacks: "Beside it",
		},
		"what topics add is unknown": {Path: "/topics", Status: 200, Has: "How much topics add to a note is not known"},
		"the interval is unknown":    {Path: "/topics", Status: 200, Has: "interval not known"},
		"sorted": {
			Path: "/topics?sort=share", Status: 200,
			Has: `aria-sort="descending"><a href="/topics?sort=share#al">Share ↓</a>`,
		},
		"a word leads to its topics": {
			Path: "/topics", Status: 200, Has: `<tr data-in="1"><th scope="row"><a href="/topics?q=hips">`,
		},
		"no match": {
			Path: "/topics?q=%3Cu%3E", Status: 200, Has: "No topic of this model holds", Lacks: "<u>",
		},
	})
	empty := webtest.New(t)
	empty.Serve(New(empty.Page("/topics", "Topics"), func() *scoring.Set { return &scoring.Set{} },
		topicindex.New(topicindex.Config{})))
	empty.Check(map[string]webtest.Case{
		"no model yet": {Path: "/topics", Status: 200, Has: "The topics of the first model will be here."},
	})
	preparing := webtest.New(t)
	preparing.Serve(New(preparing.Page("/topics", "Topics"), use, topicindex.New(topicindex.Config{})))
	preparing.Check(map[string]webtest.Case{
		"no index yet":        {Path: "/topics?q=hip", Status: 200, Has: "The search is being prepared."},
		"no index yet as CSV": {Path: "/topics/found.csv?q=hip", Status: 503, Has: "The search does not answer now"},
	})
	if !strings.Contains(preparing.Log.String(), "the index of topics is being made") {
		t.Errorf("the log does not say why: %s", preparing.Log.String())
	}
}

// TestWeight: the page says whether topics or single words move notes more, and by how much.
func TestWeight(t *testing.T) {
	t.Parallel()
	r := &drift.Reference{Topics: []float64{3, 1}, Added: []drift.Added{{Sum: 0.08, Most: 0.05}, {}, {}}}
	r.Added[1], r.Added[2] = r.Added[0], drift.Added{Sum: 4.4, Most: 2.5}
	adds := averages(r)
	for want, adds := range map[string][]drift.Added{
		"In the training notes all topics together moved the log-odds by 0.02 on average and 0.05 at most, less than " +
			"the single words: look at these first. They moved it by 1.10 on average and 2.50 at most.": adds,
		"In the training notes all topics together moved the log-odds by 1.10 on average and 2.50 at most, more than " +
			"the single words, which moved it by 0.02 on average and 0.05 at most.": {adds[0], adds[2], adds[1]},
		"In the training notes all topics together moved the log-odds by 0.02 on average and 0.05 at most. The model " +
			"has no single words beside them.": {adds[0], adds[1], {}},
		"How much topics add to a note is not known: the training of this version did not measure it.": averages(
			&drift.Reference{}),
	} {
		if got := weight(adds); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if r.Added[0].Sum != 0.08 {
		t.Error("the reference itself has changed")
	}
}

// TestSort: topics stand by what the address names, the largest first, those without it last.
func TestSort(t *testing.T) {
	t.Parallel()
	some := 0.25
	data := &view{All: []topicView{
		{Topic: &classifier.Topic{Topic: 1, Coefficient: -3}, Adds: &drift.Added{Sum: 1, Most: 9}},
		{Topic: &classifier.Topic{Topic: 2, Coefficient: 2, Prevalence: &some}, Adds: &drift.Added{Sum: 2, Most: 3}},
		{Topic: &classifier.Topic{Topic: 3, Coefficient: 1}},
	}}
	for name, want := range map[string]string{
		"": "123", "coefficient": "123", "topic": "123", "average": "213", "most": "123", "share": "213", "x": "123",
	} {
		data.sort(newAsked(map[string][]string{"sort": {"topic"}}))
		data.sort(newAsked(map[string][]string{"sort": {name}}))
		got := ""
		for _, v := range data.All {
			got += strconv.Itoa(v.Topic.Topic)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

// TestOneScale: a word that pushes half as much has a bar of half the length, in another topic and in another version.
func TestOneScale(t *testing.T) {
	t.Parallel()
	topic := func(number int, coefficient float64) classifier.Topic {
		return classifier.Topic{Topic: number, Coefficient: coefficient, Terms: []classifier.TopicTerm{
			{Term: "hip", Weight: 1}, {Term: "pain", Weight: 0.5},
		}}
	}
	strong, weak := topic(1, 2), topic(2, 1)
	of := &drawnTopics{pushes: chart.Span{To: 2}}
	if a, b := words(&strong, of, newAsked(nil))[1].Bar, words(&weak, of, newAsked(nil))[0].Bar; a != b || a == "" {
		t.Errorf("two words that push alike have the bars %s and %s", a, b)
	}
	data := &view{pushes: of.pushes, Chosen: &topicView{Topic: &strong}}
	twice := &topicindex.Result{Topic: topic(7, 4)}
	twice.Terms = twice.Terms[:1]
	data.compare(twice, newAsked(nil))
	hip, pain := data.Beside.Words[0], data.Beside.Words[1]
	if hip.This.Value != "+2.00" || hip.That.Value != "+4.00" || pain.That.Value != "–" ||
		hip.This.Bar == words(&strong, of, newAsked(nil))[0].Bar || pain.This.Bar == hip.This.Bar {
		t.Errorf("%+v", data.Beside.Words)
	}
}

// TestMapNames: the name of a circle holds what is seen in it.
func TestMapNames(t *testing.T) {
	t.Parallel()
	one := classifier.Topic{Topic: 1, Label: "hip, fall", Coefficient: -0.5}
	data := &view{hits: &hits{}}
	data.add(&one, place{x: 50, y: 50, r: 40, word: "hip", inside: true}, nil, newAsked(nil))
	data.draw()
	if want := `aria-label="hip −0.50: hip · fall, unknown of notes"`; !strings.Contains(string(data.Map), want) ||
		!strings.Contains(string(data.Map), ">hip</text>") || strings.Index(string(data.Map), ">hip<") >
		strings.Index(string(data.Map), ">−0.50<") {
		t.Errorf("%s, want %s", data.Map, want)
	}
}

// TestLayout: no circles overlap, all are on the map, and the same topics have the same map.
func TestLayout(t *testing.T) {
	t.Parallel()
	for _, k := range []int{1, 2, 3, 10, 50} {
		weights, topics := mat.NewDense(200, k, nil), make([]classifier.Topic, k)
		for i := range k {
			prevalence := 1 / float64(i+2)
			topics[i] = classifier.Topic{Topic: i + 1, Label: strings.Repeat("w", 1+i%12), Prevalence: &prevalence}
			for j := range 30 {
				weights.Set((7*i+j*(i%3+1))%200, i, 1/float64(j+1))
			}
		}
		first := layout(distances(weights), topics)
		if d := cmp.Diff(first, layout(distances(weights), topics), cmp.AllowUnexported(place{})); d != "" {
			t.Errorf("%d topics: another map the second time: %s", k, d)
		}
		over := 0
		for i, a := range first {
			if a.x-a.r < 0 || a.x+a.r > mapWidth || a.y-a.r < 0 || a.y+a.height()-a.r > mapHeight ||
				math.IsNaN(a.x+a.y+a.r) {
				t.Errorf("%d topics: %+v is not on the map", k, a)
			}
			for _, b := range first[:i] {
				if math.Hypot(a.x-b.x, a.y-b.y) < a.r+b.r-1 {
					over++
				}
			}
		}
		if over > 0 {
			t.Errorf("%d topics: %d pairs of circles overlap", k, over)
		}
	}
}

// TestMovement: dots stand at equal distances, above and below zero, the latest twelve, and the table has all.
func TestMovement(t *testing.T) {
	t.Parallel()
	ref := topicindex.Ref{Model: "fall", Version: "v", Topic: 3}
	f := webtest.New(t).Page("/topics", "Topics").Frame
	if m := newMovement(f, nil, ref, nil); m != nil {
		t.Errorf("without steps: %+v", m)
	}
	var steps []topicindex.Step
	for i := range 15 {
		s := topicindex.Step{Similarity: 0.875}
		s.CreatedAt, s.Coefficient = time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC), float64(i-9)/4
		steps = append(steps, s)
	}
	if m := newMovement(f, steps[:1], ref, nil); m.Chart != nil || m.Ago != "in this version" || len(m.Rows) != 1 {
		t.Errorf("a single step: %+v", m)
	}
	m := newMovement(f, steps, ref, nil)
	var dots []chart.Part
	for _, p := range m.Chart.Parts {
		if p.Radius > 0 {
			dots = append(dots, p)
		}
	}
	first, second, last := dots[0], dots[1], dots[len(dots)-1]
	if len(dots) != movedSteps || first.Class != "fd" || last.Class != "fa" || first.Points[0].Y != 100 ||
		last.Points[0].Y != 14 {
		t.Errorf("%d dots, %+v to %+v", len(dots), first, last)
	}
	if got := last.Points[0].X - first.Points[0].X; math.Abs(got-11*(second.Points[0].X-first.Points[0].X)) > 1e-9 {
		t.Errorf("the dots stand from %v to %v, the second at %v", first.Points, last.Points, second.Points)
	}
	if svg := string(m.Chart.SVG()); !strings.Contains(svg, ">15 Jan<") || !strings.Contains(svg, ">+1.25<") {
		t.Errorf("the chart lacks the last date or value: %s", svg)
	}
	if m.First != "1 Jan 2026" || m.Ago != "14 versions ago" || len(m.Rows) != 15 || m.Rows[0].Coefficient != 1.25 {
		t.Errorf("%+v", m)
	}
	if want := "From −1.50 on 4 Jan 2026 to +1.25 on 15 Jan 2026."; !strings.HasPrefix(m.Chart.Desc, want) {
		t.Errorf("%q, want %q", m.Chart.Desc, want)
	}
}

// TestFactorFound: a factor that is found leads to its questionnaire.
func TestFactorFound(t *testing.T) {
	t.Parallel()
	r := &topicindex.Result{
		Origin: topicindex.Origin{Model: "mood", Status: models.ChampionStatus}, Topic: classifier.Topic{Topic: 2},
	}
	if got := newAsked(nil).row(r).Href; got != "/questionnaires?factor=2&name=mood#loadings" {
		t.Errorf("it leads to %s", got)
	}
}
