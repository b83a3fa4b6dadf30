package rank

import (
	"cmp"
	"context"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/wardcast/wardcast/solver"
)

// Jobs controls the fits, or the draws, of a criterion. Zero values mean the defaults that the fields name.
type Jobs struct {
	// Seed starts the generators.
	Seed uint64
	// Threads is the number of fits at a time; 0 means GOMAXPROCS.
	Threads int
	// Progress, when not nil, is called after each fit, one call at a time.
	Progress func(done, total int)
}

// Each runs jobs 0 … count−1, started in this order, until one fails or ctx ends. It returns the error or the cause, or
// an error that wraps solver.ErrSettings for a negative number of threads.
func (j Jobs) Each(ctx context.Context, count int, work func(ctx context.Context, i int) error) error {
	if err := solver.CheckThreads(j.Threads); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(cmp.Or(j.Threads, runtime.GOMAXPROCS(0)))
	var mu sync.Mutex
	done := 0
	for i := range count {
		group.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := work(ctx, i); err != nil || j.Progress == nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			done++
			j.Progress(done, count)
			return nil
		})
	}
	return group.Wait()
}

// shared returns a function that shares a value among several jobs: the first call builds it, the last releases it.
func shared[T any](jobs int, build func() (T, error)) func() (T, error) {
	var mu sync.Mutex
	once := sync.OnceValues(build)
	return func() (T, error) {
		mu.Lock()
		defer mu.Unlock()
		value, err := once()
		if jobs--; jobs == 0 {
			once = nil
		}
		return value, err
	}
}
