package topics

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/drift"
	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/service/web/frame"
	"github.com/wardcast/wardcast/internal/service/web/prediction"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/models/topicindex"
)

// averages returns what the topics of a model add to a note on average, as Sum, and at most; then all topics together,
// and the single words. It is nil if the training did not measure it.
func averages(r *drift.Reference) []drift.Added {
	if r == nil || r.Added == nil {
		return nil
	}
	all := slices.Clone(r.Added)
	for i := range all {
		all[i].Sum /= r.Notes()
	}
	return all
}

// weight says how much topics matter beside single words.
func weight(adds []drift.Added) string {
	if adds == nil {
		return "How much topics add to a note is not known: the training of this version did not measure it."
	}
	topics, words := adds[len(adds)-2], adds[len(adds)-1]
	said := func(who string, a drift.Added) string {
		return who + " " + wording.Fixed(a.Sum, 2) + " on average and " + wording.Fixed(a.Most, 2) + " at most"
	}
	text := "In the training notes all topics together moved the log-odds by" + said("", topics)
	switch {
	case words == drift.Added{}:
		return text + ". The model has no single words beside them."
	case words.Sum > topics.Sum:
		text += ", less than the single words: look at these first. They moved it by"
	default:
		text += ", more than the single words, which moved it by"
	}
	return text + said("", words) + "."
}

// order is one of the table of all topics: by value, the largest first.
type order struct {
	name, title string
	value       func(*topicView) float64
}

// The orders. The first is that without a choice.
var orders = []order{
	{"coefficient", "Coefficient", func(v *topicView) float64 { return math.Abs(v.Coefficient) }},
	{"topic", "Topic", func(v *topicView) float64 { return -float64(v.Topic.Topic) }},
	{"average", "Adds on average", func(v *topicView) float64 { return v.added().Sum }},
	{"most", "At most", func(v *topicView) float64 { return v.added().Most }},
	{"share", "Share", func(v *topicView) float64 {
		if v.Prevalence == nil {
			return -1
		}
		return *v.Prevalence
	}},
}

func (v *topicView) added() drift.Added {
	if v.Adds == nil {
		return drift.Added{Sum: -1, Most: -1}
	}
	return *v.Adds
}

// sort sorts the topics as the address asks.
func (data *view) sort(a *asked) {
	data.Sorts = map[string]frame.Choice{}
	now := max(0, slices.IndexFunc(orders, func(o order) bool { return o.name == a.values.Get("sort") }))
	for i, o := range orders {
		data.Sorts[o.name] = frame.Choice{
			Name: a.href("/topics", "sort", o.name) + "#al", Label: o.title, Current: i == now,
		}
	}
	slices.SortStableFunc(data.All, func(a, b topicView) int {
		return cmp.Compare(orders[now].value(&b), orders[now].value(&a))
	})
}

// besideView is a topic of another version beside the chosen one: their words on one scale.
type besideView struct {
	*topicindex.Result
	Name, Served, Close string
	Words               []pair
}

// pair is a word in both versions.
type pair struct{ This, That frame.BarRow }

// other returns the topic to show beside the chosen one, nil for none.
func (h *room) other(ctx context.Context, a *asked) *topicindex.Result {
	ref, err := topicindex.ParseRef(a.values.Get("beside"))
	if err != nil || !h.index.Ready() {
		return nil
	}
	found, err := h.index.Topic(ctx, ref)
	if err != nil && !errors.Is(err, topicindex.ErrQuery) {
		h.unanswered(err)
	}
	return found
}

// counterpart returns the number of the topic of a version whose words are most like those of another, "" for none.
func (h *room) counterpart(ctx context.Context, other *topicindex.Result, version string) string {
	if other == nil {
		return ""
	}
	steps, err := h.index.History(ctx, topicindex.Ref{
		Model: other.Model, Version: other.Version, Topic: other.Topic.Topic,
	})
	for i := range steps {
		if err == nil && steps[i].Version == version {
			return strconv.Itoa(steps[i].Topic.Topic)
		}
	}
	return ""
}

// compare puts a topic beside the chosen one.
func (data *view) compare(other *topicindex.Result, a *asked) {
	b := &besideView{
		Result: other, Name: prediction.TopicName(other.Label), Served: notServed(other),
		Close: a.href("/topics", "beside", ""),
	}
	topics, at := []*classifier.Topic{data.Chosen.Topic, &other.Topic}, map[string]int{}
	var rows [2][]frame.BarRow
	for _, t := range topics {
		for _, x := range heaviest(t) {
			if _, seen := at[x.Term]; seen {
				continue
			}
			at[x.Term] = len(at)
			name, tag, _ := prediction.TermName(&x)
			none := frame.NewBarRow(name, 0, frame.Unknown)
			none.Tag, none.Denied = tag, tag == "denied"
			rows[0], rows[1] = append(rows[0], none), append(rows[1], none)
		}
	}
	values := []float64{data.pushes.From, data.pushes.To}
	for side, t := range topics {
		for _, x := range t.Terms {
			if n, shown := at[x.Term]; shown {
				push := x.Weight * t.Coefficient
				rows[side][n] = frame.NewBarRow(rows[side][n].Name, push, frame.Signed(push))
				values = append(values, push)
			}
		}
	}
	frame.DrawBarsOn(chart.Cover(values...), "fa", rows[:]...)
	for i := range rows[0] {
		b.Words = append(b.Words, pair{rows[0][i], rows[1][i]})
	}
	data.Beside = b
}
