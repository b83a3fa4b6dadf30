package retrain

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/train"
)

// Shard is one process of several that share a retraining. Shard 0 makes the model of all complaints, the others those
// of single ones; the last to finish presents all of them to the gatekeeper. The zero value makes all models.
type Shard struct {
	Index int // from 0
	Count int // of all shards, at least 2
}

// ParseShard reads "i/n".
func ParseShard(text string) (Shard, error) {
	first, second, _ := strings.Cut(text, "/")
	i, err := strconv.Atoi(first)
	n, err2 := strconv.Atoi(second)
	if err = errors.Join(err, err2); err != nil || n < 2 || i < 0 || i >= n {
		return Shard{}, fmt.Errorf("shard %q: must be i/n, from 0/n to (n-1)/n, with an n of at least 2", text)
	}
	return Shard{i, n}, nil
}

// String returns the shard as ParseShard reads it.
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Count) }

// name is that of a part in the store.
func (s Shard) name() string { return fmt.Sprintf("%d-of-%d", s.Index, s.Count) }

// trains reports whether the shard makes the model of a complaint.
func (s Shard) trains(model string) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(model))                        // cannot fail
	return s.Index == 1+int(h.Sum32()%uint32(s.Count-1)) //nolint:gosec // both are small
}

// round says which parts belong together.
type round struct {
	AsOf time.Time
	From string // generation that was served at the beginning
	// Settings and Notes are the SHA-256 of all that the models depend on besides the notes to train on, and of these.
	Settings, Notes [sha256.Size]byte
}

func (r round) equal(other round) bool {
	return r.AsOf.Equal(other.AsOf) && r.From == other.From && r.sameWork(other)
}

// sameWork reports whether both learn from the same notes with the same settings.
func (r round) sameWork(other round) bool {
	return r.Settings == other.Settings && r.Notes == other.Notes
}

func (r round) differences(other round) string {
	var names []string
	if r.Settings != other.Settings {
		names = append(names, "settings")
	}
	if r.Notes != other.Notes {
		names = append(names, "notes")
	}
	if r.From != other.From {
		names = append(names, "served models")
	}
	return strings.Join(names, " and ")
}

type part struct {
	Round    round
	Outcomes json.RawMessage // of the training
	Rare     int             // complaints of its own that are not named
	Bundles  []*bundle.Bundle
}

// pooledPart is what shard 0 leaves for those that wait for it.
type pooledPart struct {
	Round  round
	Made   bool // otherwise shard 0 is training
	Pooled train.Pooled
}

const look = 5 * time.Second // how often a shard checks whether shard 0 is ready

// patience is how often a shard looks at a result of shard 0 with other settings or notes before it gives up: shard 0
// may just have been started again and not have written its round yet.
const patience = 24

// DifferentError is returned by a waiting shard if shard 0 has made its model of different notes or settings.
type DifferentError struct{ In string }

func (e *DifferentError) Error() string {
	return "shard 0 has made the model of all complaints with different " + e.In +
		": run all shards with the same settings and notes, shard 0 first or at the same time"
}

// SupersededError is returned by a shard when shard 0 works on a later retraining.
type SupersededError struct{ AsOf time.Time }

func (e *SupersededError) Error() string {
	return "shard 0 already works on a later retraining, with the cut-off " + e.AsOf.UTC().Format(time.RFC3339)
}

// sharded makes the part of the shard unless it exists, and returns all parts as one, or the shards that are missing.
// done means that the parts were joined before: their generation is served.
func (j *Job) sharded(ctx context.Context, data train.Data, fit train.Job,
	asOf time.Time,
) (_ *train.Trained, missing []Shard, done bool, err error) {
	now, err := j.round(data, asOf)
	if err != nil {
		return nil, nil, false, err
	}
	own, err := j.part(ctx, j.Shard)
	if err != nil {
		return nil, nil, false, err
	}
	if own != nil && own.Round.AsOf.Equal(now.AsOf) && own.Round.sameWork(now) && own.Round.From != now.From {
		if done, err = j.joined(ctx, own.Round); err != nil || done {
			return nil, nil, done, err
		}
	}
	made := own != nil && own.Round.equal(now)
	if made && j.Shard.Index == 0 {
		// A later round may have been stopped between the two that shard 0 leaves.
		pooled, err := j.pooled(ctx)
		if err != nil {
			return nil, nil, false, err
		}
		made = pooled != nil && pooled.Made && pooled.Round.equal(now)
	}
	if !made {
		if err := j.makePart(ctx, data, fit, now); err != nil {
			return nil, nil, false, err
		}
	}
	parts, missing, err := j.parts(ctx, now)
	if err != nil || len(missing) > 0 {
		return nil, missing, false, err
	}
	all, err := j.join(parts)
	return all, nil, false, err
}

// round returns what the parts of a retraining on these notes have in common.
func (j *Job) round(data train.Data, asOf time.Time) (round, error) {
	settings, err := json.Marshal(struct {
		Fit     train.Settings
		Text    any
		Aux     []train.Aux
		Version string
		Site    any
		Shards  int
	}{Fit: j.Fit, Text: j.Fit.Text, Aux: data.Aux, Version: j.Version, Site: j.Site, Shards: j.Shard.Count})
	if err != nil {
		return round{}, fmt.Errorf("writing the settings: %w", err)
	}
	h := sha256.New()
	for i := range data.Rows {
		writeRow(h, &data.Rows[i])
	}
	return round{
		AsOf: asOf, From: j.Gatekeeper.From(), Settings: sha256.Sum256(settings), Notes: [sha256.Size]byte(h.Sum(nil)),
	}, nil
}

// writeRow writes all of a row so that different rows are different bytes.
func writeRow(w io.Writer, r *train.Row) {
	var b []byte
	for _, s := range []string{r.Visit, r.Patient, r.Complaint, r.Site, r.Text} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	b = binary.AppendVarint(b, r.Arrived.UnixMicro())
	b = strconv.AppendBool(b, r.Positive)
	for _, v := range r.Aux {
		x, isNumber := v.Number()
		s, isText := v.Text()
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(x))
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
		b = strconv.AppendBool(strconv.AppendBool(b, isNumber), isText)
	}
	_, _ = w.Write(b) // of a hash: cannot fail
}

// part reads what a shard has left, nil if there is nothing that can be read.
func (j *Job) part(ctx context.Context, s Shard) (*part, error) {
	return read[part](ctx, j.Gatekeeper.Store, s.name())
}

// pooled reads what shard 0 has left for the others, nil if there is nothing that can be read.
func (j *Job) pooled(ctx context.Context) (*pooledPart, error) {
	return read[pooledPart](ctx, j.Gatekeeper.Store, pooledName(j.Shard))
}

// read reads what Job.write left, nil if there is nothing, or nothing that this version of the program reads.
func read[T any](ctx context.Context, store *models.Store, name string) (*T, error) {
	data, err := store.ReadPart(ctx, name)
	if errors.Is(err, models.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v := new(T)
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(v); err != nil {
		return nil, nil //nolint:nilerr // see above
	}
	return v, nil
}

// parts returns all parts of a round in the order of the shards, or the shards that are missing.
func (j *Job) parts(ctx context.Context, of round) (all []*part, missing []Shard, err error) {
	for i := range j.Shard.Count {
		s := Shard{i, j.Shard.Count}
		p, err := j.part(ctx, s)
		if err != nil {
			return nil, nil, err
		}
		if p == nil || !p.Round.equal(of) {
			missing = append(missing, s)
		}
		all = append(all, p)
	}
	return all, missing, nil
}

// joined reports whether the served generation is that of all parts of the round, from a run that may have been
// stopped.
func (j *Job) joined(ctx context.Context, of round) (bool, error) {
	parts, missing, err := j.parts(ctx, of)
	if err != nil || len(missing) > 0 {
		return false, err
	}
	served, err := j.Gatekeeper.Store.Champion(ctx)
	if err != nil {
		return false, err
	}
	return served.Parent == of.From && served.CreatedAt.Equal(created(parts)), nil
}

func created(parts []*part) (latest time.Time) {
	for _, p := range parts {
		for _, b := range p.Bundles {
			if at := b.Manifest.CreatedAt; at.After(latest) {
				latest = at
			}
		}
	}
	return latest
}

func (j *Job) makePart(ctx context.Context, data train.Data, job train.Job, now round) error {
	var trained *train.Trained
	var err error
	if j.Shard.Index == 0 {
		if err := j.write(ctx, pooledName(j.Shard), pooledPart{Round: now}); err != nil {
			return err
		}
		var pooled *train.Pooled
		if trained, pooled, err = train.Pool(ctx, data, j.Fit, job); err != nil {
			return err
		}
		if err := j.write(ctx, pooledName(j.Shard), pooledPart{now, true, *pooled}); err != nil {
			return err
		}
	} else {
		pooled, err := j.await(ctx, now)
		if err != nil {
			return err
		}
		job.TrainsOwn = j.Shard.trains
		if trained, err = pooled.TrainOwn(ctx, data, j.Fit, job); err != nil {
			return err
		}
	}
	outcomes, err := json.Marshal(trained.Outcomes)
	if err != nil {
		return fmt.Errorf("writing what was trained: %w", err)
	}
	return j.write(ctx, j.Shard.name(),
		part{Round: now, Outcomes: outcomes, Rare: trained.RareComplaints, Bundles: trained.Bundles})
}

func pooledName(s Shard) string { return fmt.Sprintf("pooled-of-%d", s.Count) }

func (j *Job) write(ctx context.Context, name string, v any) error {
	data, err := encoded(v)
	if err != nil {
		return fmt.Errorf("writing part %q: %w", name, err)
	}
	return j.Gatekeeper.Store.WritePart(ctx, name, data)
}

func encoded(v any) ([]byte, error) {
	var data bytes.Buffer
	err := gob.NewEncoder(&data).Encode(v)
	return data.Bytes(), err
}

// await waits until shard 0 has made the model of all complaints.
func (j *Job) await(ctx context.Context, now round) (*train.Pooled, error) {
	timer := time.NewTicker(look)
	defer timer.Stop()
	logged := ""
	for looks, others := 0, 0; ; looks++ {
		p, err := j.pooled(ctx)
		if err != nil {
			return nil, err
		}
		if p != nil {
			differs := p.Round.differences(now)
			switch {
			case p.Round.equal(now) && p.Made:
				return &p.Pooled, nil
			case p.Round.AsOf.After(now.AsOf):
				return nil, &SupersededError{p.Round.AsOf}
			case !p.Round.AsOf.Equal(now.AsOf) || differs == "":
				others = 0
			case differs != logged:
				j.logger().Warn("shard 0 was run with different settings for this cut-off; waiting until it is run "+
					"with the same ones", "differs_in", differs)
				logged = differs
			}
			if p.Made && p.Round.AsOf.Equal(now.AsOf) && p.Round.From == now.From && differs != "" {
				if others++; others > patience {
					return nil, &DifferentError{differs}
				}
			}
		}
		if looks == 0 {
			j.logger().Info("waiting for shard 0, which makes the model of all complaints", "cut_off", now.AsOf)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer.C:
		}
	}
}

// join returns the parts as one training. It is the same whoever joins them.
func (j *Job) join(parts []*part) (*train.Trained, error) {
	all := &train.Trained{}
	for _, p := range parts {
		var outcomes []train.Outcome
		if err := json.Unmarshal(p.Outcomes, &outcomes); err != nil {
			return nil, fmt.Errorf("reading what a shard trained: %w", err)
		}
		all.Outcomes = append(all.Outcomes, outcomes...)
		all.RareComplaints += p.Rare
		all.Bundles = append(all.Bundles, p.Bundles...)
	}
	slices.SortFunc(all.Outcomes, func(a, b train.Outcome) int { return pooledFirst(a.Model, b.Model) })
	slices.SortFunc(all.Bundles, func(a, b *bundle.Bundle) int {
		return pooledFirst(a.Manifest.Name, b.Manifest.Name)
	})
	j.Gatekeeper.Created = created(parts) // whoever joins: a second one makes the same generation
	return all, nil
}

// pooledFirst orders models as train.Train does: that of all complaints, then by name.
func pooledFirst(a, b string) int {
	switch {
	case a == bundle.Other:
		return -1
	case b == bundle.Other:
		return 1
	}
	return strings.Compare(a, b)
}

// Log is a Source that grows while it is read. Shards of one retraining read the same part of it.
type Log interface {
	Source
	Ends(ctx context.Context) (Ends, error) // where it ends now
	Until(ends Ends) Source                 // the source up to these ends
}

// Ends are the offsets behind the last messages of the partitions of each KafkaTopic, by its name.
type Ends map[string][]int64

// endsPart is what the first shard of a retraining leaves for the others: where its reading ends. The cut-off alone is
// not enough: an outcome decided earlier, or the note of an earlier arrival, may be written late.
type endsPart struct {
	AsOf time.Time
	Ends Ends
}

// source returns what is read: of a log, each shard reads as much as the one that started first.
func (j *Job) source(ctx context.Context) (Source, error) {
	log, grows := j.Source.(Log)
	if !grows || j.Shard == (Shard{}) {
		return j.Source, nil
	}
	asOf := j.Settings.AsOf
	if asOf.IsZero() {
		return nil, fmt.Errorf("%w: shards that read a log need the same cut-off", ErrSettings)
	}
	ends, err := log.Ends(ctx)
	if err != nil {
		return nil, fmt.Errorf("finding where the messages end: %w", err)
	}
	agreed := endsPart{asOf, ends}
	data, err := encoded(agreed)
	if err != nil {
		return nil, fmt.Errorf("writing where the messages end: %w", err)
	}
	if _, err := j.Gatekeeper.Store.AgreeOnPart(ctx, fmt.Sprintf("ends-of-%d", j.Shard.Count), data,
		func(before []byte) bool {
			var found endsPart
			if gob.NewDecoder(bytes.NewReader(before)).Decode(&found) != nil {
				return false // from another version of the program
			}
			// Shard 0 may go back to an earlier cut-off, as for the model of all complaints.
			keep := found.AsOf.Equal(asOf) || found.AsOf.After(asOf) && j.Shard.Index > 0
			if keep {
				agreed = found
			}
			return keep
		}); err != nil {
		return nil, err
	}
	if agreed.AsOf.After(asOf) {
		return nil, &SupersededError{agreed.AsOf}
	}
	return log.Until(agreed.Ends), nil
}
