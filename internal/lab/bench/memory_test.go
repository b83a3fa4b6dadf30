package bench

import (
	"runtime"
	"testing"
)

// TestMemoryOfAMoment: what is over before the first tick counts too. It does not run beside other tests, which give
// memory back.
//
//nolint:paralleltest // see above
func TestMemoryOfAMoment(t *testing.T) {
	most := watchMemory()
	const size = 16 << 20
	b := make([]byte, size)
	for i := 0; i < size; i += 4096 {
		b[i] = 1
	}
	if got := most(); got < size/2 {
		t.Errorf("%d bytes were taken, want about %d", got, size)
	}
	runtime.KeepAlive(b)
}
