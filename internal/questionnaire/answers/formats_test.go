package answers_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
)

// The same answers give the same table in every format, also if JSON lines bring an item late.
func TestFormatsAgree(t *testing.T) {
	t.Parallel()
	type row struct {
		ID  string   `parquet:"id"`
		Q1  *float64 `parquet:"q1,optional"`
		Q2  *int64   `parquet:"q2,optional"`
		Sex string   `parquet:"sex"`
	}
	columns := answers.Columns{
		Items: []string{"q*"}, Range: &questionnaire.Range{High: 4},
		Confounds: []questionnaire.Confound{{Name: "sex", Kind: questionnaire.Categorical}},
	}
	const plain = "id,q1,q2,sex\na,1.5,,F\nb,,4,M\nc,0,2,F\n"
	half, zero, four, two := 1.5, 0.0, int64(4), int64(2)
	var stored, packed bytes.Buffer
	if err := parquet.Write(&stored, []row{
		{ID: "a", Q1: &half, Q2: nil, Sex: "F"},
		{ID: "b", Q1: nil, Q2: &four, Sex: "M"},
		{ID: "c", Q1: &zero, Q2: &two, Sex: "F"},
	}); err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write([]byte(plain)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"x.csv": plain, "x.csv.zst": packed.String(), "x.parquet": stored.String(),
		"x.jsonl": `{"id":"a","q1":1.5,"q2":null,"sex":"F"}` + "\n" + `{"id":"b","q2":4,"sex":"M"}` + "\n" +
			`{"id":"c","q1":0,"q2":2,"sex":"F"}`,
		"y.jsonl": `{"id":"a","q1":1.5,"sex":"F"}` + "\n" + `{"id":"b","q2":4,"sex":"M"}` + "\n" +
			`{"id":"c","q1":0,"q2":2,"sex":"F"}`,
	} {
		got, err := answers.Read(questionnairetest.File(t, name, content), &columns)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(got.Items) != 2 {
			t.Fatalf("%s: items %v", name, got.Items)
		}
		first := 0
		if got.Items[0].Name == "q2" {
			first = 1
		}
		var values [][]float64
		for _, r := range rows(got) {
			values = append(values, []float64{r[first], r[1-first]})
		}
		if diff := cmp.Diff([][]float64{{1.5, -1}, {-1, 4}, {0, 2}}, values); diff != "" {
			t.Errorf("%s: answers differ from those wanted:\n%s", name, diff)
		}
		if diff := cmp.Diff([]string{"a", "b", "c"}, got.IDs); diff != "" {
			t.Errorf("%s: ids differ from those wanted:\n%s", name, diff)
		}
		if sex, err := got.Learn(columns.Confounds); err != nil || len(sex[0].Levels) != 2 {
			t.Errorf("%s: sex %v: %v", name, sex, err)
		}
	}
}

// An item of Parquet that is a list has no answers, which the error says.
func TestListsOfParquet(t *testing.T) {
	t.Parallel()
	type row struct {
		Q1 int64   `parquet:"q1"`
		Q2 []int64 `parquet:"q2,list"`
	}
	var stored bytes.Buffer
	if err := parquet.Write(&stored, []row{{1, []int64{1}}, {2, []int64{1, 2}}}); err != nil {
		t.Fatal(err)
	}
	path := questionnairetest.File(t, "x.parquet", stored.String())
	got, err := answers.Read(path, &answers.Columns{Items: []string{"q*"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := got.CheckTraining(); err == nil || !strings.Contains(err.Error(), `column "q2"`) ||
		!strings.Contains(err.Error(), "lists of Parquet") {
		t.Errorf("error %v", err)
	}
}

// zipped returns text compressed by gzip.
func zipped(t *testing.T, text string) string {
	t.Helper()
	var b strings.Builder
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(text))
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
