package notes

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/table"
)

// stream reads all notes of a file, and the errors of rows.
func stream(t *testing.T, path string, columns Columns) (all []msg.Note, bad []string) {
	t.Helper()
	r, err := Open(path, columns)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		var n msg.Note
		_, err := r.Next(&n)
		if errors.Is(err, io.EOF) {
			return all, bad
		}
		if at, ok := errors.AsType[*table.Error](err); ok && at.Line > 0 {
			bad = append(bad, strings.TrimPrefix(err.Error(), path+", "))
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, n)
	}
}

// The fields that a site records beside are read from columns of their names, or of a message's.
func TestReaderSiteFields(t *testing.T) {
	t.Parallel()
	want := msg.Fields{
		{Name: "mode", Value: msg.Text("walk in")}, {Name: "pain", Value: msg.Number(7)},
	}
	for name, content := range map[string]string{
		"a.csv":   "visit_id,text,Mode,pain,other\nV1,x,walk in,7.0,1\n",
		"a.jsonl": `{"visit_id":"V1","text":"x","fields":{"pain":7,"other":1,"mode":"walk in"}}`,
	} {
		r, err := Open(write(t, name, content), Columns{}, "age", "mode", "pain", "missing", bundle.ComplaintColumn)
		if err != nil {
			t.Fatal(err)
		}
		var n msg.Note
		if _, err := r.Next(&n); err != nil {
			t.Error(err)
		}
		if d := cmp.Diff(want, n.Fields, cmp.AllowUnexported(msg.Value{})); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if r.Lacks("pain") || !r.Lacks("missing") {
			t.Errorf("%s: pain is lacking, or missing is there", name)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestReader(t *testing.T) {
	t.Parallel()
	full := msg.Note{
		SchemaVersion: "1", VisitID: "V1", Site: "A", ArrivedAt: "2026-11-20T00:00:00Z", Complaint: "Fall",
		Text: " glf, hip pain ", Sex: "F",
		Age: msg.Some(78), Acuity: msg.Some(2), Vitals: msg.Vitals{HR: msg.Some(110), SpO2: msg.Some(91.5)},
	}
	for name, c := range map[string]struct {
		file, content string
		columns       Columns
		want          []msg.Note
		bad           []string
	}{
		"csv, every field": {
			file: "a.csv", content: "visit_id,site,arrived_at,complaint,text,sex,age,acuity,vitals.hr,vitals.spo2\n" +
				"V1,A,2026-11-20, Fall ,\" glf, hip pain \",F ,78.0,2,110,91.5\n",
			want: []msg.Note{full},
		},
		"other separators and capitals": {
			file: "a.csv", content: "visit_id;Site;arrived_at;complaint;text;SEX;Age;Acuity;Vitals.HR;vitals.SpO2\n" +
				"V1;A;2026-11-20;Fall; glf, hip pain ;F;78;2;110;91.5\n",
			want: []msg.Note{full},
		},
		"columns of other names": {
			file: "a.tsv", content: "Nr\tS\tArrived\tWhy\tNote\tGender\tage\tYears\tacuity\tPulse\tvitals.spo2\n" +
				"V1\t\t2026-11-20\tFall\t glf, hip pain \tF\told\t78\t2\t110\t91.5\n",
			columns: Columns{Text: "Note", Complaint: "Why", Time: "Arrived", ID: "Nr", Aux: []Aux{
				{"Gender", bundle.Categorical, "sex"},
				{"Years", bundle.Numeric, "age"},
				{"Pulse", bundle.Numeric, "vitals.hr"},
				{"S", bundle.Categorical, "site"},
			}},
			want: []msg.Note{func() msg.Note { n := full; n.Site = ""; return n }()},
		},
		"json, as messages are": {
			file: "a.jsonl", content: string(full.AppendJSON(nil)) + "\n" +
				`{"text":"x","vitals":{"sbp":90},"schema_version":"1.2"}`,
			want: []msg.Note{full, {SchemaVersion: "1.2", Text: "x", Vitals: msg.Vitals{SBP: msg.Some(90)}}},
		},
		"no visits": {
			file: "a.csv", content: "text\nx\n\ny\n",
			want: []msg.Note{
				{SchemaVersion: "1", VisitID: "2", Text: "x"}, {SchemaVersion: "1", VisitID: "4", Text: "y"},
			},
		},
		"missing values": {
			file: "a.csv", content: "visit_id,text,age,sex\nV1,x,NA,.\nV2,,,null\n",
			want: []msg.Note{{SchemaVersion: "1", VisitID: "V1", Text: "x"}, {SchemaVersion: "1", VisitID: "V2"}},
		},
		"bad rows": {
			file: "a.csv", content: "visit_id,text,age\nV1,x,old\nV2,y\nV3,\xff,1\nV4,z,7\nV5,z,Inf\n",
			want: []msg.Note{{SchemaVersion: "1", VisitID: "V4", Text: "z", Age: msg.Some(7)}},
			bad: []string{
				`line 2, column "age": not a number`, `line 3: wrong number of cells: 2; the header has 3`,
				`line 4, column "text": ` + table.ErrEncoding.Error(), `line 6, column "age": not a finite number`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, bad := stream(t, write(t, c.file, c.content), c.columns)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.bad, bad); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		content, want string
		columns       Columns
	}{
		"no text":    {"note\nx\n", `, line 1, column "text": no such column`, Columns{}},
		"named text": {"text\nx\n", `, line 1, column "note": no such column`, Columns{Text: "note"}},
		"named aux": {
			"text\nx\n", `, line 1, column "Years": no such column; there are ["text"]`,
			Columns{Aux: []Aux{{"Years", bundle.Numeric, "age"}}},
		},
		"two texts":    {"text,text\nx,y\n", `, line 1, column "text": two columns of this name`, Columns{}},
		"nothing":      {"", `: no rows`, Columns{}},
		"only a label": {"label\n1\n", `, line 1, column "text": no such column`, Columns{}},
	} {
		path := write(t, "a.csv", c.content)
		if _, err := Open(path, c.columns); err == nil || err.Error() != path+c.want {
			t.Errorf("%s: %v, want FILE%s", name, err, c.want)
		}
	}
}
