package rank

import (
	"cmp"
	"context"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"
)

// jobs says how each spreads its work.
type jobs struct {
	count    int
	threads  int                   // jobs at a time; 0 means GOMAXPROCS
	progress func(done, total int) // called after each job, one call at a time; may be nil
}

// each does jobs 0 … count−1, started in this order, until one fails or ctx ends. It returns the error or the cause.
func each(ctx context.Context, j jobs, work func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(cmp.Or(j.threads, runtime.GOMAXPROCS(0)))
	var mu sync.Mutex
	done := 0
	for i := range j.count {
		group.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := work(ctx, i); err != nil || j.progress == nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			done++
			j.progress(done, j.count)
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
