package report

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/wardcast/wardcast/solver"
)

// ErrSettings is wrapped by errors of settings out of range.
var ErrSettings = errors.New("settings out of range")

// Invalid returns an error that wraps ErrSettings.
func Invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrSettings, fmt.Sprintf(format, args...))
}

// Session is what a run of an experiment works with. The zero value stores nothing and tells nobody.
type Session struct {
	// Cells is the path of the file that Resume reads and adds to; "" for none.
	Cells string
	// Progress, unless nil, is told how many steps are done. It may be called from several goroutines.
	Progress func(done, total int)

	done, total atomic.Int64
}

// Expect adds steps to those that the run takes.
func (s *Session) Expect(steps int) { s.total.Add(int64(steps)) }

// Step tells that so many more steps are done.
func (s *Session) Step(steps int) {
	if done := s.done.Add(int64(steps)); s.Progress != nil {
		s.Progress(int(done), int(s.total.Load()))
	}
}

// Threads bounds the threads of the process; 0 means one for each processor.
type Threads int

// Limit sets the bound and returns what lifts it.
func (t Threads) Limit() (lift func(), err error) {
	if t < 0 || t > solver.MaxThreads {
		return nil, Invalid("%d threads, must be 0 to %d", t, solver.MaxThreads)
	}
	before := runtime.GOMAXPROCS(int(t)) // which leaves it as it is for 0
	return func() { runtime.GOMAXPROCS(before) }, nil
}
