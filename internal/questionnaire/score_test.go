package questionnaire

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
)

// A stored model scores as the one in memory, each participant by themselves.
func TestScoreAlone(t *testing.T) {
	t.Parallel()
	rows := planted(5)
	f := fit(t, rows, nil)
	dir := t.TempDir()
	if err := f.save(dir); err != nil {
		t.Fatal(err)
	}
	m, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	later := planted(6)
	path := write(t, "later.csv", csvText(t, later))
	all, err := m.Score(path, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	inMemory, err := f.Score(path, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if !mat.Equal(all.Values, inMemory.Values) {
		t.Error("the stored model scores otherwise than the one in memory")
	}
	if mat.Min(all.Values) < 0 || mat.Max(all.Values) > 1 {
		t.Errorf("scores from %v to %v", mat.Min(all.Values), mat.Max(all.Values))
	}
	for _, i := range []int{1, 17, 80} {
		alone, err := m.Score(write(t, "one.csv", csvText(t, [][]string{later[0], later[i]})), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(alone.Values.RawRowView(0), all.Values.RawRowView(i-1)) {
			t.Errorf("row %d scores %v alone and %v among others", i, alone.Values.RawRowView(0), all.Values.RawRowView(i-1))
		}
	}
	// Columns in another order, and more of them.
	for i, row := range later {
		slices.Reverse(row)
		later[i] = append(row, "x")
	}
	mixed, err := m.Score(write(t, "mixed.csv", csvText(t, later)), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if !mat.Equal(all.Values, mixed.Values) {
		t.Error("columns in another order change scores")
	}
}

func TestScoreRefuses(t *testing.T) {
	t.Parallel()
	m := &fit(t, planted(1), nil).Model
	for _, c := range []struct {
		name   string
		change func(rows [][]string)
		line   int
		column string
		err    error
	}{
		{"an item that is not there", func(rows [][]string) { rows[0][3] = "other" }, 1, "q3", ErrNoColumn},
		{"a confound that is not there", func(rows [][]string) { rows[0][1+plantedItems] = "years" }, 1, "age", ErrNoColumn},
		{"out of range", func(rows [][]string) { rows[4][2] = "5" }, 5, "q2", ErrOutOfRange},
		{"a new level", func(rows [][]string) { rows[4][2+plantedItems] = "X" }, 5, "sex", ErrNewLevel},
		{"a confound without value", func(rows [][]string) { rows[4][1+plantedItems] = "" }, 5, "age", ErrNoConfound},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rows := planted(1)
			c.change(rows)
			_, err := m.Score(write(t, "x.csv", csvText(t, rows)), "", nil)
			at, ok := errors.AsType[*Error](err)
			if !ok || at.Line != c.line || at.Column != c.column || !errors.Is(err, c.err) || strings.Contains(err.Error(), "secret") {
				t.Errorf("error %v; want line %d, column %q: %v", err, c.line, c.column, c.err)
			}
		})
	}
	rows := planted(1)
	rows[2][1+plantedItems], rows[3][1+plantedItems] = "99", "2"
	for j := range plantedItems {
		rows[5][1+j] = "NA"
	}
	s, err := m.Score(write(t, "x.csv", csvText(t, rows)), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Beyond{{"age", 2, 3}}, s.Beyond); diff != "" {
		t.Errorf("what was cut differs from that wanted:\n%s", diff)
	}
	if !slices.Equal(s.Unanswered, []int{6}) || len(s.IDs) != plantedParticipants-1 {
		t.Errorf("%d scores, without answers are lines %v", len(s.IDs), s.Unanswered)
	}
}

// A file of a model that was changed, cut or lost is refused by its name.
func TestLoadRefusesDamage(t *testing.T) {
	t.Parallel()
	m := sampleModel()
	for _, name := range []string{ModelFile, LoadingsFile, SumsFile} {
		for _, damage := range []struct {
			name string
			do   func(path string, data []byte) error
		}{
			{"changed", func(path string, data []byte) error { data[len(data)/2] ^= 1; return os.WriteFile(path, data, 0o600) }},
			{"cut", func(path string, data []byte) error { return os.WriteFile(path, data[:len(data)/2], 0o600) }},
			{"lost", func(path string, _ []byte) error { return os.Remove(path) }},
			{"a folder", func(path string, _ []byte) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) }},
		} {
			t.Run(name+" "+damage.name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				if err := m.save(dir); err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(dir, name)
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := damage.do(path, data); err != nil {
					t.Fatal(err)
				}
				if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), name) && name != SumsFile {
					t.Errorf("loading: %v, want an error that names %s", err, name)
				}
			})
		}
	}
}

// A model that no fit can have written is refused, though its sums are right.
func TestLoadRefusesNonsense(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*Model){
		"no choice of a standard error":    func(m *Model) { m.Summary.OneStandardErrorFactors = 7 },
		"an error that has no drawing":     func(m *Model) { m.Summary.BCV[0].StandardError = 1e308 },
		"a standard error below 0":         func(m *Model) { m.Summary.BCV[0].StandardError = -1 },
		"a loading below 0":                func(m *Model) { m.factors.Loadings.Set(1, 1, -1) },
		"a loading of a confound below 0":  func(m *Model) { m.factors.ConfoundLoadings.Set(1, 1, -1) },
		"more scores described than given": func(m *Model) { m.Summary.FactorFits = append(m.Summary.FactorFits, FactorFit{}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, dir := sampleModel(), t.TempDir()
			spoil(m)
			if err := m.save(dir); err != nil {
				t.Fatal(err)
			}
			if _, err := Load(dir); !errors.Is(err, ErrModel) {
				t.Errorf("loading: %v, want %v", err, ErrModel)
			}
		})
	}
}

func FuzzModel(f *testing.F) {
	m := sampleModel()
	dir := f.TempDir()
	if err := m.save(dir); err != nil {
		f.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(dir, ModelFile))
	if err != nil {
		f.Fatal(err)
	}
	tensors, err := os.ReadFile(filepath.Join(dir, LoadingsFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(manifest, tensors)
	f.Add([]byte("{}"), []byte{})
	f.Add(manifest[:len(manifest)/2], tensors)
	f.Fuzz(func(t *testing.T, manifest, tensors []byte) {
		m, err := parseModel(manifest, tensors)
		if err != nil {
			return
		}
		_, _ = m.report(nil, nil) // a curve beyond any number may have no drawing; nothing panics
		if _, err := m.loadingsCSV(); err != nil {
			t.Fatalf("a model that loads cannot be written: %v", err)
		}
	})
}
