package topicindex

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A topic that models of a generation share is one result, which names them, and is found in each of them.
func TestSharedTopicsAreOneResult(t *testing.T) {
	t.Parallel()
	fall, chest := breath, breath
	fall.model, fall.complaint = "fall", "Fall"
	chest.model, chest.complaint, chest.beta = "chest", "Chest", []float64{1, -.5, .75} // the third is corrected
	later := breath
	later.day = 1
	x, _ := filled(t, []planted{fall, breath, chest}, []planted{later})
	r, err := x.Search(t.Context(), Query{Text: "dyspnea"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range r.Results {
		line := r.CreatedAt.Format("Jan 2 ") + r.Model + " " + r.Label
		for _, model := range r.Also {
			line += " +" + model
		}
		got = append(got, line)
	}
	breathless, denied := "dyspnea, cough, wheezing", "chest pain (denied), chest (denied), dyspnea"
	want := []string{
		"Jan 2 _other " + breathless, "Jan 1 _other " + breathless + " +chest +fall",
		"Jan 2 _other " + denied, "Jan 1 _other " + denied + " +fall", "Jan 1 chest " + denied,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if r.Total != 5 || !cmp.Equal(r.Facets.Model, []Facet{{"_other", 4}, {"chest", 2}, {"fall", 2}}) ||
		!cmp.Equal(r.Facets.Direction, []Facet{{"admission", 5}}) {
		t.Errorf("total %d, facets %+v", r.Total, r.Facets)
	}
	if got := names(t, x, Query{Text: "dyspnea", Complaint: "Fall"}); !cmp.Equal(got, []string{"fall/1", "fall/3"}) {
		t.Errorf("of a complaint: %v", got)
	}
}
