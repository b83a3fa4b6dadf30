package msg

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func contractScores() Scores {
	return Scores{
		SchemaVersion: "1", ResponseID: "R1", ParticipantID: "P1", Instrument: "bfi",
		AnsweredAt: "2026-11-20T08:01:02Z", ScoredAt: "2026-11-20T08:01:02.345Z",
		Model: Model{Name: "bfi", Version: "2026-11-20T02-00-00Z-3f9c1a", Method: "icqf", SHA256: strings.Repeat(
			"3f9c1a00", 8)},
		Scores: []Score{
			{Factor: "factor1", Score: 0.31, Items: []Loading{
				{Item: "N1", Text: "Get angry easily.", Reversed: false, Loading: 4.25},
				{Item: "N2", Text: "", Reversed: false, Loading: 3.5},
			}},
			{
				Factor: "factor2", Score: 0, StandardError: 0.25,
				Items: []Loading{{Item: "E3", Text: "Know how to captivate people.", Reversed: true, Loading: 3.75}},
			},
		},
		Answered: 24, Items: 25, UnknownItems: 1, Beyond: []string{"age"},
	}
}

// TestScoresAreWhatEncodingJSONWrites also reads the scores back.
func TestScoresAreWhatEncodingJSONWrites(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		str := func() string { return rapid.String().Draw(t, "string") }
		num := func() float64 { return finite().Draw(t, "number") }
		count := func() int { return rapid.IntRange(0, 3).Draw(t, "count") }
		want := Scores{
			SchemaVersion: "1", ResponseID: str(), ParticipantID: str(), Instrument: str(), AnsweredAt: str(),
			ScoredAt: str(), Model: Model{Name: str(), Version: str(), Method: str(), SHA256: str()},
			Scores: []Score{}, Answered: rapid.Int().Draw(t, "answered"), Items: rapid.Int().Draw(t, "items"),
			UnknownItems: count(), Beyond: rapid.SliceOfN(rapid.String(), 0, 2).Draw(t, "beyond"),
		}
		for range count() {
			score := Score{Factor: str(), Score: num(), StandardError: num(), Items: []Loading{}}
			for range count() {
				score.Items = append(score.Items,
					Loading{Item: str(), Text: str(), Reversed: rapid.Bool().Draw(t, "reversed"), Loading: num()})
			}
			want.Scores = append(want.Scores, score)
		}
		data := want.AppendJSON([]byte("kept"))[len("kept"):]
		if reference := reencode(t, &want); string(data) != reference {
			t.Fatalf("got  %s\nwant %s", data, reference)
		}
		var got Scores
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
	})
}

func TestScoresWithoutListsAndOptionals(t *testing.T) {
	t.Parallel()
	s := Scores{ResponseID: "R1", Instrument: "bfi", Scores: []Score{{Factor: "factor1"}}, Items: 25}
	const want = `{"schema_version":"1","response_id":"R1","instrument":"bfi","scored_at":"","model":{"name":"",` +
		`"version":"","method":"","sha256":""},` +
		`"scores":[{"factor":"factor1","score":0,"items":[]}],"answered":0,"items":25}`
	if got := string(s.AppendJSON(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := string((&Scores{}).AppendJSON(nil)); !strings.Contains(got, `"scores":[],`) {
		t.Errorf("got %s", got)
	}
}
