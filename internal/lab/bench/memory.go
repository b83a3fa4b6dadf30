package bench

import (
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// memoryTick is how often the memory is looked at.
const memoryTick = 20 * time.Millisecond

// watchMemory returns a function that ends the watch and returns the most bytes that the process took meanwhile, beyond
// those that it had before.
func watchMemory() func() uint64 {
	debug.FreeOSMemory()
	before, stop, peak := taken(), make(chan struct{}), make(chan uint64)
	go func() {
		tick := time.NewTicker(memoryTick)
		defer tick.Stop()
		for most := before; ; most = max(most, taken()) {
			select {
			case <-tick.C:
			case <-stop:
				peak <- max(most, taken())
				return
			}
		}
	}()
	return sync.OnceValue(func() uint64 {
		close(stop)
		return <-peak - before
	})
}

// taken returns the bytes that the process has of the system.
func taken() uint64 {
	all := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(all)
	return all[0].Value.Uint64() - all[1].Value.Uint64()
}
