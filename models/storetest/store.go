package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/wardcast/wardcast/models"
)

var errStopped = errors.New("stopped") // what a writer meets that was stopped

// stopping is a bucket whose user is stopped at one of its writes, after or before it takes effect.
type stopping struct {
	models.Bucket
	writes  int // that still pass
	after   bool
	stopped bool
}

func (s *stopping) write(do func() error) error {
	if s.stopped {
		return errStopped
	}
	if s.writes > 0 {
		s.writes--
		return do()
	}
	s.stopped = true
	if s.after {
		if err := do(); err != nil {
			return err
		}
	}
	return errStopped
}

func (s *stopping) Swap(ctx context.Context, name string, before, after []byte) error {
	return s.write(func() error { return s.Bucket.Swap(ctx, name, before, after) })
}

func (s *stopping) AddFolder(ctx context.Context, folder string, files map[string][]byte, last string) error {
	return s.write(func() error { return s.Bucket.AddFolder(ctx, folder, files, last) })
}

// Stop calls act on stores whose writer is stopped at the first write, at the second, and so on, before and after the
// write takes effect. Each time check gets the bucket that is left. prepare returns a bucket to begin with. Stop ends
// when act ends before it is stopped, and returns how often it was.
func Stop(
	t *testing.T,
	prepare func() models.Bucket,
	act func(*models.Store) error,
	check func(when string, left models.Bucket),
) int {
	t.Helper()
	for i := 0; ; i++ {
		b := &stopping{Bucket: prepare(), writes: i / 2, after: i%2 == 1}
		err := act(models.New(b))
		if !b.stopped {
			if err != nil {
				t.Fatal(err)
			}
			return i
		}
		if !errors.Is(err, errStopped) {
			t.Fatalf("write %d failed, and the writer says %v", i/2+1, err)
		}
		check(fmt.Sprintf("stopped at write %d, in effect %v", i/2+1, b.after), b.Bucket)
	}
}
