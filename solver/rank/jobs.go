package rank

import (
	"cmp"
	"context"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Jobs says how a criterion makes its fits, or its draws. Zero values mean what the fields say.
type Jobs struct {
	// Seed starts the generators.
	Seed uint64
	// Threads is the number of fits at a time; 0 means GOMAXPROCS.
	Threads int
	// Progress, when not nil, is called after each fit, one call at a time.
	Progress func(done, total int)
}

// each does jobs 0 … count−1, started in this order, until one fails or ctx ends. It returns the error or the cause.
func (j Jobs) each(ctx context.Context, count int, work func(ctx context.Context, i int) error) error {
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

// lazy is a value that the first of several jobs makes and the last one releases.
type lazy[T any] struct {
	mu    sync.Mutex
	value *T
	err   error
	left  int // jobs to come
}

// use returns the value to one more job.
func (l *lazy[T]) use(build func() (T, error)) (value T, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.value == nil {
		value, err = build()
		l.value, l.err = &value, err
	}
	value, err = *l.value, l.err
	if l.left--; l.left == 0 {
		l.value = nil
	}
	return value, err
}
