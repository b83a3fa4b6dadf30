package topicindex

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// errDamaged is returned when the files of an index changed while it was searched.
var errDamaged = errors.New("the topic index is damaged and is made again by the next refresh")

// Damaged returns a channel that receives when a search found the index damaged. Searches then wait for the next
// Refresh, which makes the index again, as they wait for the first one.
func (x *Index) Damaged() <-chan struct{} { return x.damaged }

// read returns what f reads of the index. If f finds it damaged, the index is given up. An error that wraps ErrQuery is
// the caller's.
func read[T any](ctx context.Context, x *Index, f func(*snapshot) (T, error)) (found T, err error) {
	s, err := x.acquire(ctx)
	if err != nil {
		return found, err
	}
	defer s.users.Done()
	err = sound(func() error {
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
		if err := sound(s.close); err != nil {
			x.config.Logger.Warn("closing a damaged topic index", "err", err)
		}
	}()
}

// errPanic stands for a panic of bleve, which believes the files that it reads.
var errPanic = errors.New("the index cannot be read")

// sound returns the error of f, also if f panics or touches mapped memory whose file is gone, for which the kernel
// sends SIGBUS. The value of the panic may hold parts of a query; its type does not.
func sound(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %T", errPanic, p)
		}
	}()
	return f()
}
