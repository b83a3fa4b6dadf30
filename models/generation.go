package models

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/wardcast/wardcast/classifier/bundle"
)

// Generation is the models that belong together: those of one training, and those that it took over from the generation
// before. A complaint without a version has no model of its own. A generation never changes once it is added.
type Generation struct {
	Format    string            `json:"format"` // set by AddGeneration
	Parent    string            `json:"parent,omitempty"`
	CreatedAt time.Time         `json:"created_at"`
	By        string            `json:"by,omitempty"`     // who or what made it: "train", "retrain", …
	Models    map[string]Member `json:"models"`           // by name
	Pooled    map[string]Pooled `json:"pooled,omitempty"` // what has no model of its own, by the name it would have
	// RareComplaints counts the complaints without a model of their own that have too few patients to be named.
	RareComplaints int `json:"rare_complaints,omitempty"`

	// Beds is the version of the fit of beds, "" for none.
	Beds string `json:"beds,omitempty"`

	// Name is set by AddGeneration and whenever a generation is read: the time of creation and the first six digits of
	// the SHA-256 of the file, as a version's name is made.
	Name string `json:"-"`
	sum  string // SHA-256 of the file
}

// Member is the model of one complaint, or that of all.
type Member struct {
	Complaint string `json:"complaint,omitempty"`
	Version   string `json:"version"`
	Reason    string `json:"reason,omitempty"` // why it has a model of its own, or this one
}

// Pooled is a complaint that the model of all complaints answers.
type Pooled struct {
	Complaint string `json:"complaint,omitempty"`
	Reason    string `json:"reason,omitempty"`
}

const (
	generationsFolder = "generations"

	// generationFormat is 1.1 since a generation names its fit of beds. Programs that know 1 read it, and drop that.
	generationFormat = "1.1"
	generationLimit  = 16 << 20 // bytes, some 50,000 complaints
)

func generationFile(name string) string { return path.Join(generationsFolder, name+".json") }

// Versions returns the version of each model.
func (g *Generation) Versions() map[string]string {
	versions := make(map[string]string, len(g.Models))
	for model, m := range g.Models {
		versions[model] = m.Version
	}
	return versions
}

// check returns an error that wraps ErrManifest for values that no generation can have.
func (g *Generation) check() error {
	problem := ""
	switch {
	case g.CreatedAt.Year() < 1 || g.CreatedAt.Year() > 9999 || g.CreatedAt.IsZero():
		problem = "created_at is missing"
	case len(g.Models) == 0:
		problem = "it names no model"
	case g.Parent != "" && !bundle.ValidVersion(g.Parent):
		problem = fmt.Sprintf("parent %q", g.Parent)
	case g.Beds != "" && !bundle.ValidVersion(g.Beds):
		problem = fmt.Sprintf("beds %q", g.Beds)
	}
	for model, m := range g.Models {
		if _, both := g.Pooled[model]; both || !bundle.ValidModel(model) || !bundle.ValidVersion(m.Version) {
			problem = fmt.Sprintf("model %q, version %q", model, m.Version)
		}
	}
	for model := range g.Pooled {
		if !bundle.ValidModel(model) {
			problem = fmt.Sprintf("model %q", model)
		}
	}
	if problem != "" {
		return fmt.Errorf("%w: %s", bundle.ErrManifest, problem)
	}
	return nil
}

// encode returns the file of the generation and sets what depends on it.
func (g *Generation) encode() ([]byte, error) {
	g.Format, g.CreatedAt = generationFormat, g.CreatedAt.UTC()
	if err := g.check(); err != nil {
		return nil, err
	}
	data, err := json.MarshalIndent(g, "", "  ")
	if err != nil {
		return nil, err
	}
	data = append(data, '\n')
	g.sum = digest(data)
	g.Name = bundle.VersionName(g.CreatedAt, g.sum)
	return data, nil
}

func parseGeneration(name string, data []byte) (*Generation, error) {
	sum := digest(data)
	if !bundle.OfVersion(name, sum) {
		return nil, errors.New("the file was changed: its checksum is not that of its name")
	}
	if err := bundle.CheckFormat(data); err != nil {
		return nil, err
	}
	g := &Generation{Name: name, sum: sum}
	if err := json.Unmarshal(data, g); err != nil {
		return nil, fmt.Errorf("%w: %w", bundle.ErrManifest, err)
	}
	if err := g.check(); err != nil {
		return nil, err
	}
	if bundle.VersionName(g.CreatedAt, sum) != name {
		return nil, fmt.Errorf("%w: it was created at %v", bundle.ErrManifest, g.CreatedAt)
	}
	return g, nil
}

// AddGeneration adds a generation, whose versions must be there and sound, and sets its Name and Format. Nothing is
// served by it before it is promoted. Adding the same generation again changes nothing.
func (s *Store) AddGeneration(ctx context.Context, g *Generation) error {
	if err := s.keepGeneration(ctx, g, func() error { return nil }); err != nil {
		return fmt.Errorf("adding a generation: %w", err)
	}
	return nil
}

// keepGeneration writes the file of a generation whose versions are sound, unless it is there. record is called before.
func (s *Store) keepGeneration(ctx context.Context, g *Generation, record func() error) error {
	data, err := g.encode()
	if err == nil {
		err = s.checkVersions(ctx, g)
	}
	if err == nil {
		err = record()
	}
	if err != nil {
		return err
	}
	file := generationFile(g.Name)
	if err = s.swap(ctx, file, nil, data); errors.Is(err, ErrConflict) {
		err = &FileError{File: file, Err: fs.ErrExist}
	}
	if err != nil {
		return err
	}
	return s.sign(ctx, g)
}

// checkVersions returns an error for each damaged or missing version of a generation, and for its fit of beds.
func (s *Store) checkVersions(ctx context.Context, g *Generation) error {
	var errs []error
	for _, model := range slices.Sorted(maps.Keys(g.Models)) {
		if _, err := s.Load(ctx, model, g.Models[model].Version); err != nil {
			errs = append(errs, err)
		}
	}
	if g.Beds != "" {
		_, err := s.LoadBeds(ctx, g.Beds)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Generation reads a generation. The error wraps ErrNotFound, or is a *FileError if its file is damaged.
func (s *Store) Generation(ctx context.Context, name string) (*Generation, error) {
	if !bundle.ValidVersion(name) {
		return nil, listed("no generation %q", name)
	}
	file := generationFile(name)
	data, err := s.bucket.Read(ctx, file, generationLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, listed("no generation %q", name)
	}
	var g *Generation
	if err == nil {
		g, err = parseGeneration(name, data)
	}
	if err != nil {
		return nil, fileError(FileError{File: file, Err: err})
	}
	return g, nil
}

// Generations returns the names of all generations, oldest first.
func (s *Store) Generations(ctx context.Context) ([]string, error) {
	files, err := s.bucket.Files(ctx, generationsFolder)
	if err != nil {
		return nil, listing(err)
	}
	var names []string
	for _, file := range files {
		if name, ok := strings.CutSuffix(path.Base(file), ".json"); ok && generationFile(name) == file &&
			bundle.ValidVersion(name) {
			names = append(names, name)
		}
	}
	return names, nil
}
