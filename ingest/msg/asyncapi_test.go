package msg

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestAsyncAPI holds docs/asyncapi.yaml against the constants and schemas of this package.
func TestAsyncAPI(t *testing.T) {
	t.Parallel()
	const docs = "../../docs/"
	data, err := os.ReadFile(docs + "asyncapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	type reference struct {
		Ref string `yaml:"$ref"`
	}
	type headers struct {
		AllOf      []reference `yaml:"allOf"`
		Required   []string
		Properties map[string]struct {
			Const string
			Enum  []string
		}
	}
	var doc struct {
		AsyncAPI   string
		Components struct {
			Messages map[string]struct {
				Payload struct {
					Schema reference
				}
				Headers  reference
				Examples []struct{ Payload any }
			}
			Schemas struct {
				Incoming   headers `yaml:"incomingHeaders"`
				Answer     headers `yaml:"answerHeaders"`
				Prediction headers `yaml:"predictionHeaders"`
				Champion   headers `yaml:"championHeaders"`
				BedDemand  headers `yaml:"bedDemandHeaders"`
				Scores     headers `yaml:"scoresHeaders"`
				DeadLetter headers `yaml:"deadLetterHeaders"`
			}
		}
	}
	if err := yaml.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(doc.AsyncAPI, "3.") {
		t.Errorf("version %q", doc.AsyncAPI)
	}
	for name, want := range map[string]string{
		"note": Schema("note"), "outcome": Schema("outcome"), "prediction": Schema("prediction"),
		"champion": Schema("champion"), "bedDemand": Schema("bed-demand"),
		"response": Schema("response"), "scores": Schema("scores"),
	} {
		got, err := os.ReadFile(docs + doc.Components.Messages[name].Payload.Schema.Ref)
		if err != nil || string(got) != want {
			t.Errorf("%s: its schema is another: %v", name, err)
		}
		for _, example := range doc.Components.Messages[name].Examples {
			payload, err := json.Marshal(example.Payload)
			if err != nil {
				t.Fatal(err)
			}
			for _, problem := range validate(t, want, payload) {
				t.Errorf("the example of %s: %s", name, problem)
			}
		}
	}
	same := func(what string, got []string, want ...string) {
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	s := doc.Components.Schemas
	var reasons []string
	for _, r := range Reasons() {
		reasons = append(reasons, string(r))
	}
	same("reasons", s.DeadLetter.Properties[HeaderReason].Enum, reasons...)
	same("headers of dead letters", append(s.DeadLetter.Required, HeaderField, HeaderModelVersion), HeaderReason,
		HeaderField, HeaderStage, HeaderTopic, HeaderPartition,
		HeaderOffset, HeaderModelVersion, HeaderAttempts, HeaderDeadTime)
	same("headers of answers", s.Answer.Required, HeaderSpecVersion, HeaderID, HeaderType, HeaderSource, HeaderTime,
		HeaderContentType)
	same("types of what comes in", s.Incoming.Properties[HeaderType].Enum, "com.wardcast.triage.note.v1",
		"com.wardcast.triage.outcome.v1", "com.wardcast.questionnaire.response.v1")
	p := s.Answer.Properties
	same("values", []string{p[HeaderSpecVersion].Const, p[HeaderContentType].Const}, SpecVersion, ContentType)
	for name, typ := range map[string]struct {
		headers headers
		want    string
	}{
		"prediction": {s.Prediction, TypePrediction}, "champion": {s.Champion, TypeChampion},
		"bedDemand": {s.BedDemand, TypeBedDemand}, "scores": {s.Scores, TypeScores},
	} {
		same("type of "+name, []string{typ.headers.Properties[HeaderType].Const}, typ.want)
		if ref := "#/components/schemas/answerHeaders"; len(typ.headers.AllOf) != 1 || typ.headers.AllOf[0].Ref != ref {
			t.Errorf("the headers of %s are not those of all answers", name)
		}
		if got, want := doc.Components.Messages[name].Headers.Ref, "#/components/schemas/"+name+"Headers"; got != want {
			t.Errorf("the headers of %s are %s, want %s", name, got, want)
		}
	}
}
