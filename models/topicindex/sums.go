package topicindex

import (
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
	"slices"
)

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
	data, err := os.ReadFile(filepath.Join(folder, sumsFile))
	if err != nil {
		return fmt.Errorf("%w: %w", errSums, err)
	}
	var want map[string]string
	if err := json.Unmarshal(data, &want); err != nil {
		return fmt.Errorf("%w: reading %s: %w", errSums, sumsFile, err)
	}
	got, err := sums(folder)
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
