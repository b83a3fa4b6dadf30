package questionnaire

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	t.Parallel()
	confounds, err := ParseConfounds([]string{"age:numeric:5:18", " sex : categorical"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(
		[]Confound{{Name: "age", Kind: Numeric, Range: &Range{Low: 5, High: 18}}, {Name: "sex", Kind: Categorical}},
		confounds); diff != "" {
		t.Errorf("confounds differ from those wanted:\n%s", diff)
	}
	for _, bad := range []string{
		"age", "age:", "age:number", ":numeric", "age:numeric:5", "age:numeric:9:5", "sex:categorical:0:1",
	} {
		if _, err := ParseConfounds([]string{bad}); !errors.Is(err, ErrOptions) {
			t.Errorf("confound %q: error %v, want ErrOptions", bad, err)
		}
	}
	if _, err := ParseConfounds([]string{"age:numeric", "age:categorical"}); !errors.Is(err, ErrOptions) {
		t.Errorf("a confound twice: error %v, want ErrOptions", err)
	}
	for _, bad := range []string{"", "1", "2:1", "1:1", "a:b", "0:Inf", "NaN:1"} {
		if _, err := ParseRange(bad); !errors.Is(err, ErrOptions) {
			t.Errorf("range %q: error %v, want ErrOptions", bad, err)
		}
	}
	names := []string{"adhd", "sex=F", "diagnosis=SCHZ:CONTROL"}
	labels, err := ParseLabels(names)
	if diff := cmp.Diff([]Label{{"adhd", "1", ""}, {"sex", "F", ""}, {"diagnosis", "SCHZ", "CONTROL"}},
		labels); err != nil || diff != "" {
		t.Errorf("labels differ from those wanted (%v):\n%s", err, diff)
	}
	for i, label := range labels {
		if got := label.String(); got != names[i] {
			t.Errorf("label %q is named %q", names[i], got)
		}
	}
	for _, bad := range []string{"=F", "sex=", "sex=F:", "sex=:M", "sex=F:F"} {
		if _, err := ParseLabels([]string{bad}); !errors.Is(err, ErrOptions) {
			t.Errorf("label %q: error %v, want ErrOptions", bad, err)
		}
	}
}

func TestParseLabelsRefusesOneTwice(t *testing.T) {
	t.Parallel()
	if _, err := ParseLabels([]string{"ill", "smoke=1", "smoke=2"}); err != nil {
		t.Errorf("two values of a label: %v", err)
	}
	if _, err := ParseLabels([]string{"ill", "smoke", "ill=1"}); !errors.Is(err, ErrOptions) ||
		!strings.Contains(err.Error(), "twice") {
		t.Errorf("a label twice: error %v, want ErrOptions", err)
	}
}

// What is not defined is null in JSON, and comes back as NaN.
func TestFigure(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal([]Figure{0.1, Figure(math.NaN()), Figure(math.Inf(-1)), 1e-7})
	if err != nil || string(text) != "[0.1,null,null,1e-7]" {
		t.Errorf("%s, error %v", text, err)
	}
	back := make([]Figure, 4)
	if err := json.Unmarshal(text, &back); err != nil || back[0] != 0.1 || back[1].Defined() || back[2].Defined() ||
		back[3] != 1e-7 {
		t.Errorf("%v, error %v", back, err)
	}
}
