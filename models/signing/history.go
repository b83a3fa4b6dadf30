package signing

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strings"
)

// Head says how the history of a store ends and what is served, apart from both, so that it shows if one of them was
// changed by hand. Its signatures cover them. While a change is made it allows what was before and what will be, so
// that a crash leaves a sound store.
type Head struct {
	Format     string   `json:"format"`
	Lines      int      `json:"lines"`    // of the history
	History    []string `json:"history"`  // SHA-256 of the history
	Champion   []string `json:"champion"` // what is served, "" for nothing
	Signatures []string `json:"signatures,omitempty"`
}

const headFormat = "wardcast-head/1"

// NewHead returns the head that allows a history and what is served alone.
func NewHead(history []byte, served string) *Head {
	return &Head{Lines: bytes.Count(history, []byte("\n")), History: []string{digest(history)}, Champion: []string{served}}
}

// ParseHead reads the file of a head.
func ParseHead(data []byte) (*Head, error) {
	h := &Head{}
	switch err := json.Unmarshal(data, h); {
	case err != nil:
		return nil, err
	case h.Format != headFormat:
		return nil, fmt.Errorf("the format is not %s", headFormat)
	case len(h.Champion) == 0:
		return nil, errors.New("it does not say what is served")
	}
	return h, nil
}

// Encode returns the file of the head, signed unless the key is nil.
func (h Head) Encode(k *Key) ([]byte, error) {
	h.Format, h.Signatures = headFormat, nil
	if k != nil {
		h.Signatures = []string{k.Sign(h.Statement())}
	}
	data, err := json.MarshalIndent(h, "", "  ")
	return append(data, '\n'), err
}

// Statement returns what the signatures of the head sign.
func (h Head) Statement() []byte {
	h.Signatures = nil
	data, _ := json.Marshal(h) // of texts and a number
	return append([]byte("wardcast history\n"), data...)
}

// Knows reports whether the head allows a history.
func (h *Head) Knows(history []byte) bool { return slices.Contains(h.History, digest(history)) }

// Allow makes the head allow, before what it allows, what another one does, and a history and what is served with it.
func (h *Head) Allow(other *Head, history []byte, served string) {
	var before Head
	if other != nil {
		before = *other
	}
	h.History = last(before.History, digest(history), h.History[0])
	h.Champion = last(before.Champion, served, h.Champion[0])
}

// last returns a list with these elements at its end, each of which it then holds once.
func last(list []string, elements ...string) []string {
	for _, e := range elements {
		list = append(slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == e }), e)
	}
	return list
}

// Differs says how a history that the head does not allow differs from what it says.
func (h *Head) Differs(history []byte) string {
	n := bytes.Count(history, []byte("\n"))
	switch missing := h.Lines - n; {
	case missing > 0:
		return fmt.Sprintf("the history was cut: at its end %d of %d lines are missing", missing, h.Lines)
	case missing < 0:
		return fmt.Sprintf("the history has %d lines, of which head.json knows %d: an older wardcast added the others, or "+
			"somebody by hand", n, h.Lines)
	}
	return "the history was changed: head.json holds another hash of it"
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Chain follows the lines of a history. Each holds the hash of the one before, or, if that holds none or a person
// vouched for what had been damaged, of all lines before: their damage does not count any more.
type Chain struct {
	Hashed bool // a line held a hash, so that each after it must

	before []byte
	all    hash.Hash
}

// Follows returns an error unless the next line, which holds this hash, of all lines before if it is a restart, follows
// those that were added.
func (c *Chain) Follows(previous string, restart bool) error {
	of := digest(c.before)
	if restart && c.all != nil {
		of = hex.EncodeToString(c.all.Sum(nil))
	}
	hashed := c.Hashed
	c.Hashed = hashed || previous != ""
	switch {
	case previous == "" && hashed:
		return errors.New("holds no hash of the line before: an older wardcast wrote it, or somebody by hand")
	case previous != "" && previous != of:
		return errors.New("does not hold the hash of what stands before: that was changed, moved or removed")
	}
	return nil
}

// Add adds a line, with its end.
func (c *Chain) Add(line []byte) {
	if c.all == nil {
		c.all = sha256.New()
	}
	_, _ = c.all.Write(line) // never fails
	c.before = bytes.TrimSuffix(line, []byte("\n"))
}

// Sums returns what the signatures of a generation sign: the SHA-256 of files by their names, as sha256sum writes them.
func Sums(files map[string]string) []byte {
	text := []byte("wardcast generation\n")
	for _, file := range slices.Sorted(maps.Keys(files)) {
		text = fmt.Appendf(text, "%s  %s\n", files[file], file)
	}
	return text
}

// EachSum calls each for the files of Sums.
func EachSum(statement []byte, each func(file, sum string)) {
	for line := range strings.Lines(string(statement)) {
		if sum, file, ok := strings.Cut(strings.TrimSpace(line), "  "); ok {
			each(file, sum)
		}
	}
}
