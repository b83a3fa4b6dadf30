package topicindex

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
)

// errDamaged is returned when the files of an index changed while it was searched.
var errDamaged = errors.New("the topic index is damaged and is made again by the next refresh")

// Damaged returns a channel that receives when a search found the index damaged. Searches then wait for the next
// Refresh, which makes the index again, as they wait for the first one.
func (x *Index) Damaged() <-chan struct{} { return x.damaged }

// read returns what f reads of the index, which is given up if damaged. An error that wraps ErrQuery is the caller's.
func read[T any](ctx context.Context, x *Index, f func(*snapshot) (T, error)) (found T, err error) {
	s, err := x.acquire(ctx)
	if err != nil {
		return found, err
	}
	defer s.users.Done()
	err = recovered(func() error {
		found, err = f(s)
		return err
	})
	if err == nil || errors.Is(err, ErrQuery) || ctx.Err() != nil && !errors.Is(err, errPanic) {
		return found, err
	}
	x.giveUp(s)
	return found, fmt.Errorf("%w: %w", errDamaged, err)
}

// giveUp takes an index out of use and asks for a Refresh.
func (x *Index) giveUp(s *snapshot) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.current != s {
		return // another search was faster, or a Refresh
	}
	x.current, x.filled = nil, make(chan struct{})
	select {
	case x.damaged <- struct{}{}:
	default:
	}
	go func() {
		if err := recovered(s.close); err != nil {
			x.config.Logger.Warn("closing a damaged topic index", "err", err)
		}
	}()
}

// errPanic stands for a panic of bleve, which believes the files that it reads.
var errPanic = errors.New("the index cannot be read")

// recovered returns the error of f, also if f panics or touches mapped memory whose file is gone, for which the kernel
// sends SIGBUS. The value of the panic may hold parts of a query; its type does not.
func recovered(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %T", errPanic, p)
		}
	}()
	return f()
}

const sumsFile = "sums.json" // holds the sums of the other files of an index

// errSums is returned for an index whose files are not those that build wrote.
var errSums = errors.New("its files are not as they were written")

// sums returns the SHA-256 of each file of an index by its path, all but sumsFile.
func sums(folder string) (map[string]string, error) {
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == sumsFile {
			return err
		}
		f, err := os.Open(filepath.Join(folder, filepath.FromSlash(path)))
		if err != nil {
			return err
		}
		h := sha256.New()
		_, err = io.Copy(h, f)
		all[path] = hex.EncodeToString(h.Sum(nil))
		return errors.Join(err, f.Close())
	})
	return all, err
}

func writeSums(folder string) error {
	all, err := sums(folder)
	if err != nil {
		return fmt.Errorf("reading the files of the index: %w", err)
	}
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, sumsFile), data, 0o600)
}

// checkSums returns an error unless the files are those that build wrote: bleve maps them and believes them.
func checkSums(folder string) error {
	var want, got map[string]string
	data, err := os.ReadFile(filepath.Join(folder, sumsFile))
	if err == nil {
		err = json.Unmarshal(data, &want)
	}
	if err == nil {
		got, err = sums(folder)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errSums, err)
	}
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if got[path] != want[path] {
			return fmt.Errorf("%w: %s", errSums, path)
		}
	}
	if len(got) == 0 || len(got) != len(want) {
		return fmt.Errorf("%w: %d files, want %d", errSums, len(got), len(want))
	}
	return nil
}
