package topicindex

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/document"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/mapping"
	index "github.com/blevesearch/bleve_index_api"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/internal/files"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/blobstore"
	"github.com/wardcast/wardcast/textproc"
)

// format is part of the name of an index's folder. It changes with fields, weights and bleve's format.
const format = "3"

// buildPrefix begins the names of folders in which an index is made, or lies that lacks some versions.
const buildPrefix = ".build-"

// ErrClosed is returned by an Index after Close.
var ErrClosed = errors.New("the topic index is closed")

// Config says what an Index holds and where it lies.
type Config struct {
	Store *models.Store
	// Factors returns questionnaires as versions of models; nil for none. They are read at every Refresh.
	Factors func(context.Context) ([]*Version, error)
	// Folder is where the index lies, created if it is missing; "" is a temporary one, which Close removes. Several
	// processes may share it if they have the same store.
	Folder string
	Logger *slog.Logger // nil is silent
}

// Index searches the topics of a store. It is safe for concurrent use.
type Index struct {
	config    Config
	temporary string // folder to remove, "" for none

	refreshing sync.Mutex // one Refresh at a time

	damaged chan struct{} // asks for a Refresh; holds one

	mu      sync.RWMutex  // of what follows
	current *snapshot     // nil before the first Refresh, after damage and after Close
	filled  chan struct{} // closed when current is not nil, and by Close
	closed  bool
}

// New returns an index without topics. Refresh fills it.
func New(c Config) *Index {
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return &Index{config: c, filled: make(chan struct{}), damaged: make(chan struct{}, 1)}
}

// CacheFolder returns the folder for the index of a store and of questionnaires among the user's caches; "", for a
// temporary one, if the user has none.
func CacheFolder(store string, questionnaires ...string) string {
	caches, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	if absolute, err := filepath.Abs(store); err == nil && !blobstore.IsURL(store) {
		store = absolute
	}
	sum := sha256.Sum256([]byte(strings.Join(append([]string{store}, questionnaires...), "\n")))
	return filepath.Join(caches, "wardcast", "topics", hex.EncodeToString(sum[:])[:16])
}

// Ready reports whether there is an index to search.
func (x *Index) Ready() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.current != nil
}

// Close waits for running searches and closes the index.
func (x *Index) Close() error {
	x.refreshing.Lock()
	defer x.refreshing.Unlock()
	x.mu.Lock()
	old := x.current
	if old == nil && !x.closed {
		close(x.filled)
	}
	x.current, x.closed = nil, true
	x.mu.Unlock()
	var err error
	if old != nil {
		err = recovered(old.close)
	}
	if x.temporary != "" {
		err = errors.Join(err, os.RemoveAll(x.temporary))
	}
	return err
}

// acquire returns what to search, once there is some. The caller must call users.Done.
func (x *Index) acquire(ctx context.Context) (*snapshot, error) {
	for {
		s, filled, err := x.using()
		if s != nil || err != nil {
			return s, err
		}
		select {
		case <-filled:
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the topic index: %w", ctx.Err())
		}
	}
}

// using returns what to search, with its caller among the users, or what to wait for.
func (x *Index) using() (*snapshot, <-chan struct{}, error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.closed {
		return nil, nil, ErrClosed
	}
	if x.current != nil {
		x.current.users.Add(1)
	}
	return x.current, x.filled, nil
}

// Refresh makes the index hold what the store holds. If versions and statuses are the same, it only lists them.
// Otherwise it opens the index that another process made of them, or makes one. Searches go on meanwhile. A version
// that cannot be read is left out: the index is then in use and the error names it, until the store changes.
func (x *Index) Refresh(ctx context.Context) error {
	x.refreshing.Lock()
	defer x.refreshing.Unlock()
	if x.closed {
		return ErrClosed
	}
	list, damage := models.List(ctx, x.config.Store)
	if list == nil && damage != nil {
		return damage
	}
	var factors []*Version
	if x.config.Factors != nil {
		var err error
		if factors, err = x.config.Factors(ctx); err != nil {
			damage = errors.Join(damage, err)
		}
	}
	key, err := keyOf(list, factors)
	if err != nil {
		return errors.Join(damage, err)
	}
	if x.holds(key) {
		return damage
	}
	if err := x.makeFolder(ctx); err != nil {
		return errors.Join(damage, fmt.Errorf("%w: %w", ErrFolder, err))
	}
	// Of several processes one makes the index, the others open it.
	unlock, err := files.Lock(ctx, filepath.Join(x.config.Folder, files.LockFile), 0o600)
	if err != nil {
		return errors.Join(damage, err)
	}
	defer unlock()
	next, left, err := x.obtain(ctx, key, list, factors)
	damage = errors.Join(damage, left)
	if err != nil {
		return errors.Join(damage, err)
	}
	x.mu.Lock()
	old := x.current
	if x.current = next; old == nil {
		close(x.filled)
	}
	x.mu.Unlock()
	x.tidy(next)
	if old != nil {
		if err := recovered(old.close); err != nil {
			x.config.Logger.Warn("closing the topic index before this one", "err", err)
		}
	}
	return damage
}

func (x *Index) holds(key string) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.current != nil && x.current.key == key
}

func (x *Index) makeFolder(ctx context.Context) (err error) {
	x.removeLeft(ctx)
	if x.config.Folder != "" {
		return os.MkdirAll(x.config.Folder, 0o700)
	}
	if x.temporary, err = os.MkdirTemp("", temporaryPrefix); err != nil {
		return err
	}
	x.config.Folder = x.temporary
	_, err = files.Lock(ctx, filepath.Join(x.temporary, usedFile), 0o600) // until the process ends
	return err
}

const (
	temporaryPrefix = "wardcast-topics-"
	usedFile        = ".used" // locked while a process uses a temporary folder
)

// removeLeft removes the temporary folders of processes that were killed. A young one may not be locked yet.
func (x *Index) removeLeft(ctx context.Context) {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), temporaryPrefix+"*")) // the pattern is valid
	for _, folder := range left {
		if info, err := os.Stat(folder); err != nil || time.Since(info.ModTime()) < time.Minute {
			continue
		}
		at, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		unlock, err := files.Lock(at, filepath.Join(folder, usedFile), 0o600)
		cancel()
		if err != nil {
			continue
		}
		if err := os.RemoveAll(folder); err != nil {
			x.config.Logger.Warn("removing the topic index of a killed process", "err", err)
		}
		unlock()
	}
}

func keyOf(list []models.VersionInfo, factors []*Version) (string, error) {
	sum := sha256.New()
	if err := json.NewEncoder(sum).Encode([]any{format, list, factors}); err != nil {
		return "", fmt.Errorf("naming the topic index: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}

// obtain opens the index of that key, or makes it. The error left names versions that could not be read.
func (x *Index) obtain(ctx context.Context, key string, list []models.VersionInfo,
	factors []*Version,
) (_ *snapshot, left, err error) {
	path := filepath.Join(x.config.Folder, key)
	if _, err := os.Stat(path); err == nil {
		s, err := openSnapshot(path, key)
		if err == nil {
			return s, nil, nil
		}
		x.config.Logger.Warn("the topic index cannot be opened and is made again", "err", err)
		if err := os.RemoveAll(path); err != nil {
			return nil, nil, err
		}
	}
	versions, text, left, err := x.collect(ctx, list)
	if err != nil {
		return nil, left, err
	}
	building, err := os.MkdirTemp(x.config.Folder, buildPrefix)
	if err != nil {
		return nil, left, fmt.Errorf("%w: %w", ErrFolder, err)
	}
	made := filepath.Join(building, key)
	err = build(ctx, made, append(versions, factors...), text)
	if err == nil && left == nil {
		// Only an index of all versions is for others, too.
		if err = os.Rename(made, path); err == nil {
			made = path
			err = os.Remove(building)
		}
	}
	var s *snapshot
	if err == nil {
		s, err = openSnapshot(made, key)
	}
	if err != nil {
		return nil, left, errors.Join(fmt.Errorf("making the topic index: %w", err), os.RemoveAll(building))
	}
	if left != nil {
		s.own = building
	}
	return s, left, nil
}

// collect returns the versions of the list, from the index if it has them, and the settings by which queries are read.
func (x *Index) collect(ctx context.Context, list []models.VersionInfo) (all []*Version, text textproc.Settings,
	left, err error,
) {
	known := x.known(ctx)
	served := slices.IndexFunc(list, func(v models.VersionInfo) bool { return v.Champion })
	text = textproc.DefaultSettings()
	for i := range list {
		info := &list[i]
		id := info.Model + "/" + info.Version
		v := known[id]
		if v == nil || i == served {
			b, err := x.config.Store.Load(ctx, info.Model, info.Version)
			if ctx.Err() != nil {
				return nil, text, left, ctx.Err()
			}
			if err == nil {
				v, err = describe(info, b)
			}
			switch {
			case errors.Is(err, classifier.ErrVersion):
				// Its terms mean something else.
				x.config.Logger.Info("a version is not in the topic index", "model", info.Model,
					"model_version", info.Version, "err", err)
				continue
			case err != nil:
				left = errors.Join(left, err)
				continue
			}
			if i == served {
				if err := json.Unmarshal(b.Manifest.Text, &text); err != nil {
					return nil, text, left, fmt.Errorf("model %q, version %q: reading text settings: %w", info.Model,
						info.Version, err)
				}
			}
		}
		v.update(info)
		all = append(all, v)
	}
	entering(all)
	return all, text, left, nil
}

// known returns the versions of the current index, or of the one that was left in the folder.
func (x *Index) known(ctx context.Context) map[string]*Version {
	s, _, err := x.using()
	switch {
	case err != nil:
		return nil
	case s != nil:
		defer s.users.Done()
	default:
		earlier := slices.DeleteFunc(x.folders(),
			func(name string) bool { return strings.HasPrefix(name, buildPrefix) })
		if len(earlier) == 0 {
			return nil
		}
		if s, err = openSnapshot(filepath.Join(x.config.Folder, earlier[0]), ""); err != nil {
			return nil
		}
		defer func() { _ = s.close() }() // only read
	}
	var known map[string]*Version
	if err := recovered(func() (err error) {
		known, err = s.versions(ctx)
		return err
	}); err != nil {
		return nil // they are read from the store again
	}
	return known
}

// ownFolder matches the folders that an index makes. Others in its folder belong to somebody else.
var ownFolder = regexp.MustCompile(`^([0-9a-f]{16}|` + regexp.QuoteMeta(buildPrefix) + `\d+)$`)

// folders returns the names of the indexes in the folder, finished or not.
func (x *Index) folders() []string {
	entries, err := os.ReadDir(x.config.Folder)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && ownFolder.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}

// tidy removes other indexes and what a killed process left. A process that still searches one has its files open.
func (x *Index) tidy(keep *snapshot) {
	for _, name := range x.folders() {
		path := filepath.Join(x.config.Folder, name)
		if name == keep.key || path == keep.own {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			x.config.Logger.Warn("removing an earlier topic index", "err", err)
		}
	}
}

const batchSize = 5000

var textKey = []byte("text") // where an index keeps the settings of textproc by which queries are read

// newMapping returns how documents are indexed: by the fields that they are made of.
func newMapping() *mapping.IndexMappingImpl {
	m := bleve.NewIndexMapping()
	m.ScoringModel = index.BM25Scoring
	m.DefaultMapping.Dynamic = false
	m.IndexDynamic, m.StoreDynamic, m.DocValuesDynamic = false, false, false
	return m
}

func build(ctx context.Context, path string, versions []*Version, text textproc.Settings) (err error) {
	read, err := textproc.Reader(text)
	if err != nil {
		return err
	}
	var topics []found
	for _, v := range versions {
		topics = append(topics, v.topics(read)...)
	}
	if err := share(topics); err != nil {
		return err
	}
	lengths := lengths(topics, len(topics)+len(versions))
	settings, err := json.Marshal(text)
	if err != nil {
		return err
	}
	idx, err := bleve.NewUsing(path, newMapping(), scorch.Name, scorch.Name, nil)
	if err != nil {
		return fmt.Errorf("making the index: %w", err)
	}
	defer func() {
		if err = errors.Join(err, idx.Close()); err == nil {
			err = writeSums(path)
		}
	}()
	b := &batches{ctx: ctx, index: idx, batch: idx.NewBatch()}
	b.batch.SetInternal(textKey, settings)
	for i := range topics {
		d, err := topics[i].document(lengths)
		if err := errors.Join(err, b.add(d)); err != nil {
			return err
		}
	}
	for _, v := range versions {
		d, err := v.document(read)
		if err := errors.Join(err, b.add(d)); err != nil {
			return err
		}
	}
	return b.flush()
}

type batches struct {
	ctx   context.Context
	index bleve.Index
	batch *bleve.Batch
}

func (b *batches) add(d *document.Document) error {
	if err := b.batch.IndexAdvanced(d); err != nil {
		return err
	}
	if b.batch.Size() < batchSize {
		return nil
	}
	return b.flush()
}

func (b *batches) flush() error {
	if err := b.ctx.Err(); err != nil {
		return err
	}
	if err := b.index.Batch(b.batch); err != nil {
		return fmt.Errorf("writing the index: %w", err)
	}
	b.batch.Reset()
	return nil
}
