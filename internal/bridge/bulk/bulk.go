// Package bulk turns what a hospital exports of its past into the notes and outcomes that models are trained on: FHIR
// Bulk Data, from a server or from files, and folders of HL7 v2.
//
// What the files report is replayed by the time at which it was recorded, as if it had come to the bridge then, so the
// note of a visit is the first one that the stream would have had: nothing that was learned later is in it.
//
// The folder of the output keeps, hashed, what was joined, so the next export may hold only what has changed since.
// Downloaded files, which identify patients, stay in its folder .export until they have been read.
package bulk

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/wardcast/wardcast/ingest/fhir"
	"github.com/wardcast/wardcast/ingest/hl7"
	"github.com/wardcast/wardcast/internal/bridge"
	"github.com/wardcast/wardcast/internal/files"
	"github.com/wardcast/wardcast/internal/service/config"
	"github.com/wardcast/wardcast/internal/table"
)

// Options say what to read and where to write.
type Options struct {
	Config config.Bridge
	Key    bridge.Key
	// One of these: the answer of a finished $export as a file, the base URL of a server, a folder of files.
	Manifest, Server, Folder string
	Out                      string // folder
	Gzip                     bool
	Logger                   *slog.Logger
	Progress                 func(what string, done, total int)
}

// Counts say what became of the visits in the folder of the output.
type Counts struct {
	Encounters int `json:"encounters"`
	Notes      int `json:"notes"`
	Outcomes   int `json:"outcomes"`
	// LeftOut counts by cause: visits of other_class, no_text, no_complaint, no_outcome (whose note is written) and
	// deleted, and the resources and messages of this run that could not be used, by their reason, or that the server
	// could not export, by its code.
	LeftOut map[string]int `json:"left_out"`
}

// Causes beside the reasons of refusals.
const (
	otherClass   = "other_class"
	otherMessage = "other_message" // of a kind that the bridge does not read
	noOutcome    = "no_outcome"
	deleted      = "deleted"
	exportPrefix = "export_" // before the code of what the server could not export
	exportOther  = exportPrefix + "other"
)

// causes are the causes of what a note lacks.
var causes = map[string]string{
	bridge.LacksEmergency: otherClass, bridge.LacksText: "no_text", bridge.LacksComplaint: "no_complaint",
}

// past is what is known of the visits: the content of stateFile.
type past struct {
	KeyID      string             `json:"key_id"`
	Site       string             `json:"site"`
	Since      map[string]string  `json:"since"` // by server, the time of its last export
	References *bridge.References `json:"references"`
	States     map[string]string  `json:"states"`    // of visits and merged patients, as the bridge keeps them
	Documents  map[string]string  `json:"documents"` // hashed reference to visit
	Deleted    map[string]bool    `json:"deleted"`   // visits
	Notes      map[string]string  `json:"notes"`     // by visit, as JSON
	Outcomes   map[string]string  `json:"outcomes"`
}

const stateFile = "state.json.gz"

// run is one run.
type run struct {
	Options
	past

	bridge   *bridge.Bridge
	readings []bridge.Reading
	leftOut  map[string]int
	// incomplete says that the server could not export everything.
	incomplete bool
}

// Run reads, writes notes.jsonl and outcomes.jsonl, and returns what they hold.
func Run(ctx context.Context, o Options) (*Counts, error) {
	o.Config.KeepIdentifiers = false
	b, err := bridge.New(o.Config, o.Key)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Out, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder: %w", err)
	}
	unlock, err := files.Lock(ctx, filepath.Join(o.Out, files.LockFile), 0o600)
	if err != nil {
		return nil, err
	}
	defer unlock()
	r := &run{Options: o, bridge: b, leftOut: map[string]int{}}
	if err := r.load(); err != nil {
		return nil, err
	}
	from := source{}
	server, err := newExport(r)
	if err != nil {
		return nil, err
	}
	switch {
	case o.Folder != "":
		from, err = r.folder()
	case o.Manifest != "":
		from, err = server.open(ctx)
	default:
		from, err = server.request(ctx)
	}
	if err != nil {
		return nil, err
	}
	if err := r.read(ctx, from); err != nil {
		return nil, err
	}
	r.replay()
	for _, reference := range from.deleted {
		r.delete(reference)
	}
	if o.Server != "" && !r.incomplete { // otherwise the next export is asked for what is missing too
		r.Since[o.Server] = from.time
	}
	counts := r.count()
	if err := r.save(); err != nil {
		return nil, err
	}
	if o.Folder == "" {
		err = server.finish(ctx)
	}
	return counts, err
}

func (r *run) load() error {
	r.past = past{
		KeyID: r.bridge.KeyID(), Site: r.Config.Site, Since: map[string]string{}, References: bridge.NewReferences(),
		States: map[string]string{}, Documents: map[string]string{}, Deleted: map[string]bool{},
		Notes: map[string]string{}, Outcomes: map[string]string{},
	}
	f, err := os.Open(filepath.Join(r.Out, stateFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the state: %w", err)
	}
	defer func() { _ = f.Close() }() // it is only read
	plain, err := table.Decompress(f, stateFile)
	if err == nil {
		err = json.NewDecoder(plain).Decode(&r.past)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", f.Name(), err)
	}
	if r.KeyID != r.bridge.KeyID() {
		return fmt.Errorf("%s was written with key %s; the configuration has another one, %s", f.Name(), r.KeyID,
			r.bridge.KeyID())
	}
	if r.Site != r.Config.Site {
		return fmt.Errorf("%s is of site %q; the configuration has another one, %q", f.Name(), r.Site, r.Config.Site)
	}
	for key, value := range r.States {
		if err := r.bridge.Load(bridge.State, key, []byte(value)); err != nil {
			return fmt.Errorf("reading %s: %w", f.Name(), err)
		}
	}
	return nil
}

// save writes the files, the state last: a run that ends before begins again where the one before it ended.
func (r *run) save() error {
	end := ""
	if r.Gzip {
		end = ".gz"
	}
	for name, lines := range map[string]map[string]string{"notes.jsonl": r.Notes, "outcomes.jsonl": r.Outcomes} {
		if err := r.write(name+end, func(w io.Writer) (err error) {
			for _, visit := range slices.Sorted(maps.Keys(lines)) {
				if _, err = io.WriteString(w, lines[visit]+"\n"); err != nil {
					break
				}
			}
			return err
		}); err != nil {
			return err
		}
	}
	err := r.write(stateFile, func(w io.Writer) error { return json.NewEncoder(w).Encode(&r.past) })
	return cmp.Or(err, os.Chmod(filepath.Join(r.Out, stateFile), 0o600)) // it has dates of birth
}

func (r *run) write(name string, write func(io.Writer) error) error {
	f, err := table.CreateAny(filepath.Join(r.Out, name))
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	if err := write(f); err != nil {
		return fmt.Errorf("writing %s: %w", name, errors.Join(err, f.Abort()))
	}
	if err := f.Commit(); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// source is what an export consists of.
type source struct {
	files   []file
	time    string   // of the export
	deleted []string // references
}

// file is a file of one kind: a type of resource, or messages.
type file struct{ path, kind string }

const (
	messages = "HL7"
	problems = "OperationOutcome" // of the export itself
)

// kinds are the types of resources in the order in which they are read: what others refer to comes first.
var kinds = []string{"Patient", "Condition", "Encounter", "Observation", "DocumentReference", messages}

// folder lists a folder of files: .hl7, .ndjson and .jsonl, also compressed.
func (r *run) folder() (from source, err error) {
	err = filepath.WalkDir(r.Folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := table.Extensions(path)
		kind := messages
		switch strings.ToLower(name) {
		case ".hl7":
		case ".ndjson", ".jsonl":
			// A file of an export holds resources of one type.
			kind = ""
			err = r.lines(path, func(first fhir.Resource) bool { kind = fhir.Of(first).ResourceType; return false })
			if kind == "Bundle" {
				err = r.deletions(path, &from)
			}
		default:
			r.Logger.Warn("a file that is neither .hl7 nor .ndjson is left out", "file", d.Name())
			return nil
		}
		from.files = append(from.files, file{path, kind})
		return err
	})
	if err != nil {
		return from, fmt.Errorf("reading the folder: %w", err)
	}
	if len(from.files) == 0 {
		return from, fmt.Errorf("%s has no file with the end .hl7, .ndjson or .jsonl", r.Folder)
	}
	return from, nil
}

// deletions adds what the bundles of a file delete.
func (r *run) deletions(path string, to *source) error {
	return r.lines(path, func(one fhir.Resource) bool {
		if b, ok := one.(*fhir.Bundle); ok {
			for _, e := range b.Entry {
				if e.Request.Method == "DELETE" {
					to.deleted = append(to.deleted, fhir.Reference{Reference: e.Request.URL}.Local())
				}
			}
		}
		return true
	})
}

// maxLine bounds a resource: documents hold images.
const maxLine = 64 << 20

// open opens a file, which may be compressed, and calls f.
func open(path string, f func(io.Reader) error) error {
	in, err := os.Open(path) //nolint:gosec // the command line or the export names it
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it is only read
	plain, err := table.Decompress(in, path)
	if err == nil {
		err = f(plain)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	return nil
}

// lines calls f with each resource of a file until it returns false. Those that cannot be read are counted.
func (r *run) lines(path string, f func(fhir.Resource) bool) error {
	return open(path, func(in io.Reader) error {
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, maxLine)
		for lines.Scan() {
			line := strings.TrimSpace(lines.Text())
			if line == "" {
				continue
			}
			one, err := fhir.Parse([]byte(line))
			if err != nil {
				r.leftOut[err.Error()]++
				continue
			}
			if !f(one) {
				return nil
			}
		}
		return lines.Err()
	})
}

// read reads all files: first what others refer to, then what they report.
func (r *run) read(ctx context.Context, from source) error {
	slices.SortStableFunc(from.files,
		func(a, b file) int { return slices.Index(kinds, a.kind) - slices.Index(kinds, b.kind) })
	for _, refer := range []bool{true, false} {
		for i, f := range from.files {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			r.Progress("reading", i, len(from.files))
			var err error
			switch {
			case f.kind == messages && !refer:
				err = open(f.path, r.messages)
			case refer && slices.Contains([]string{"Patient", "Condition", "Encounter"}, f.kind):
				err = r.lines(f.path,
					func(one fhir.Resource) bool { r.bridge.Refer(r.References, one, ""); return true })
			case !refer && slices.Contains([]string{"Encounter", "Observation", "DocumentReference"}, f.kind):
				err = r.lines(f.path, r.resource)
			case !refer && f.kind == problems:
				err = r.lines(f.path, r.problem)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) messages(in io.Reader) error {
	for data, err := range hl7.Messages(in) {
		if err != nil {
			return err
		}
		_, reading, err := r.bridge.ReadHL7(data)
		if err == nil && reading.Ignored {
			r.leftOut[otherMessage]++
			continue
		}
		r.take(reading, err)
	}
	return nil
}

func (r *run) resource(one fhir.Resource) bool {
	reading, err := r.bridge.ReadFHIR(one, r.References)
	if _, is := one.(*fhir.DocumentReference); is && err == nil && !reading.Ignored {
		r.Documents[r.bridge.Hash(fhir.Of(one).Reference())] = reading.Visit()
	}
	r.take(reading, err)
	return true
}

// problem counts what the server could not export.
func (r *run) problem(one fhir.Resource) bool {
	o, is := one.(*fhir.OperationOutcome)
	if !is {
		return true
	}
	for _, i := range o.Issue {
		cause := exportOther
		if slices.Contains(fhir.IssueCodes(), i.Code) {
			cause = exportPrefix + strings.ReplaceAll(i.Code, "-", "_")
		}
		if i.Severity != "information" && i.Severity != "success" {
			r.leftOut[cause]++
			r.incomplete = true
		}
	}
	return true
}

func (r *run) take(reading bridge.Reading, err error) {
	switch {
	case err != nil:
		r.leftOut[err.Error()]++ // a *bridge.Refusal, whose text is its reason
	case !reading.Ignored:
		r.readings = append(r.readings, reading)
	}
}

// replay joins what was read, in the order in which it was recorded. Of each visit the first note and the last outcome
// are kept.
func (r *run) replay() {
	now := time.Now()
	at := func(reading *bridge.Reading) time.Time {
		if t := reading.At(); !t.IsZero() && t.Before(now) {
			return t
		}
		return now
	}
	slices.SortStableFunc(r.readings, func(a, b bridge.Reading) int { return at(&a).Compare(at(&b)) })
	for i := range r.readings {
		if i%1000 == 0 {
			r.Progress("joining", i, len(r.readings))
		}
		reading := &r.readings[i]
		delete(r.Deleted, reading.Visit()) // it is there again
		for _, e := range r.bridge.Join(*reading, at(reading)) {
			switch e.To {
			case bridge.Notes:
				if _, before := r.Notes[e.Key]; !before {
					r.Notes[e.Key] = string(e.Value)
				}
			case bridge.Outcomes:
				r.Outcomes[e.Key] = string(e.Value)
			case bridge.State:
				if r.States[e.Key] = string(e.Value); e.Value == nil {
					delete(r.States, e.Key)
				}
			}
		}
	}
}

// delete forgets a resource that the server has deleted: an encounter, those of a patient, or the text of a document. A
// single deleted value stays in its note.
func (r *run) delete(reference string) {
	name := r.bridge.Hash(reference)
	if visit, is := r.Documents[name]; is {
		delete(r.Documents, name)
		r.forget(visit)
	}
	for at, e := range r.References.Encounters {
		if at == name || e.Patient == name {
			r.forget(e.Visit)
			r.Deleted[e.Visit] = true
			delete(r.Outcomes, e.Visit)
			delete(r.References.Encounters, at)
		}
	}
	delete(r.References.Patients, name)
}

// forget forgets what was joined of a visit.
func (r *run) forget(visit string) {
	_ = r.bridge.Load(bridge.State, visit, nil) // which cannot fail without a value
	delete(r.States, visit)
	delete(r.Notes, visit)
}

// count counts the visits.
func (r *run) count() *Counts {
	lacks := map[string]string{} // of each visit
	for _, e := range r.References.Encounters {
		if lacks[e.Visit] = bridge.LacksText; !e.Emergency {
			lacks[e.Visit] = bridge.LacksEmergency
		}
	}
	for visit := range r.States {
		if all, is := r.bridge.Lacks(visit); is {
			lacks[visit] = strings.Join(all[:min(1, len(all))], "")
		}
	}
	c := &Counts{Encounters: len(lacks), Notes: len(r.Notes), Outcomes: len(r.Outcomes), LeftOut: r.leftOut}
	for visit, what := range lacks {
		_, hasNote := r.Notes[visit]
		_, hasOutcome := r.Outcomes[visit]
		switch {
		case !hasNote:
			c.LeftOut[causes[what]]++
		case !hasOutcome:
			c.LeftOut[noOutcome]++
		}
	}
	if n := len(r.Deleted); n > 0 {
		c.LeftOut[deleted] = n
	}
	return c
}
