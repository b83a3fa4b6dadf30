package main

import (
	"encoding/csv"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/internal/lab/sample"
	"github.com/wardcast/wardcast/internal/lab/synth"
	"github.com/wardcast/wardcast/internal/notes"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/models"
)

// benchNotes is how many notes a file of the benchmark holds.
const benchNotes = 20_000

// BenchmarkPredictFiles scores a file of generated notes with the models of the demo, from each format to each. The
// last one only reads.
func BenchmarkPredictFiles(b *testing.B) {
	g, err := synth.New(synth.Settings{Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	store := models.OpenDir(b.TempDir())
	if _, err := sample.Train(b.Context(), g, store, sample.Options{}); err != nil {
		b.Fatal(err)
	}
	set, err := scoring.Load(b.Context(), store, nil)
	if err != nil {
		b.Fatal(err)
	}
	folder := b.TempDir()
	formats := []string{"jsonl", "csv", "parquet"}
	writeBenchNotes(b, g, filepath.Join(folder, "in."))
	for _, in := range formats {
		for _, out := range append(formats, "none") {
			b.Run("from="+in+"/to="+out, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					notes, err := notes.Open(filepath.Join(folder, "in."+in), notes.Columns{})
					if err != nil {
						b.Fatal(err)
					}
					if out == "none" {
						err = drain(notes)
					} else {
						err = predictTo(b, set, notes, filepath.Join(folder, "out."+out))
					}
					if err := errors.Join(err, notes.Close()); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(benchNotes*float64(b.N)/b.Elapsed().Seconds(), "notes/s")
			})
		}
	}
}

// predictTo writes the predictions of notes as the command does.
func predictTo(b *testing.B, set *scoring.Set, notes *notes.Reader, path string) error {
	b.Helper()
	file, err := table.Create(path)
	if err != nil {
		return err
	}
	batch := scoring.Batch{Notes: notes.Next, Out: file}
	end := func() error { return nil }
	if !file.IsLines() {
		w, err := table.NewWriter[scoring.Row](file)
		if err != nil {
			return err
		}
		batch.Rows, end = w.Write, w.Close
	}
	_, err = set.Predict(b.Context(), classifier.Options{Limits: classifier.Limits{Topics: 3, Terms: 4, Words: 5}},
		batch)
	return errors.Join(err, end(), file.Commit())
}

// drain reads all notes.
func drain(in *notes.Reader) error {
	var n synth.Note
	for {
		if _, err := in.Next(&n.Note); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// writeBenchNotes writes the same notes in each format.
func writeBenchNotes(b *testing.B, g *synth.Generator, prefix string) {
	b.Helper()
	type vitals struct {
		HR   *float64 `parquet:"hr,optional"`
		SpO2 *float64 `parquet:"spo2,optional"`
	}
	type row struct {
		Visit     string  `parquet:"visit_id"`
		Complaint string  `parquet:"complaint"`
		Text      string  `parquet:"text"`
		Age       float64 `parquet:"age"`
		Sex       string  `parquet:"sex"`
		Acuity    float64 `parquet:"acuity"`
		Vitals    vitals  `parquet:"vitals"`
	}
	lines, err := os.Create(prefix + "jsonl")
	if err != nil {
		b.Fatal(err)
	}
	separated, err := os.Create(prefix + "csv")
	if err != nil {
		b.Fatal(err)
	}
	w := csv.NewWriter(separated)
	errs := []error{
		w.Write([]string{"visit_id", "complaint", "text", "age", "sex", "acuity", "vitals.hr", "vitals.spo2"}),
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	var rows []row
	for i := range benchNotes {
		n := g.At(i)
		_, err := lines.Write(append(n.AppendJSON(nil), '\n'))
		errs = append(errs, err, w.Write([]string{
			n.VisitID, n.Complaint, n.Text, number(n.Age.Value), n.Sex,
			number(n.Acuity.Value), number(n.Vitals.HR.Value), number(n.Vitals.SpO2.Value),
		}))
		rows = append(rows, row{
			Visit: n.VisitID, Complaint: n.Complaint, Text: n.Text, Age: n.Age.Value, Sex: n.Sex,
			Acuity: n.Acuity.Value, Vitals: vitals{&n.Vitals.HR.Value, &n.Vitals.SpO2.Value},
		})
	}
	w.Flush()
	if err := errors.Join(append(errs, w.Error(), lines.Close(), separated.Close(),
		parquet.WriteFile(prefix+"parquet", rows))...); err != nil {
		b.Fatal(err)
	}
}
