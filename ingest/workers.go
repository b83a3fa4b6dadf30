package ingest

import (
	"runtime"
	"time"
)

// workers lends the handler's workers to the partitions, as many as can run at once. A worker's memory would otherwise
// be there for each partition, and it is most of what a partition needs.
type workers struct {
	handler Handler
	idle    chan Worker // nil is one that has not been made yet
}

// workerPatience is how long a partition waits for a worker before it gets one more: a handler that does not return
// must not hold up the other partitions.
const workerPatience = time.Second

func newWorkers(h Handler) *workers {
	w := &workers{handler: h, idle: make(chan Worker, runtime.GOMAXPROCS(0))}
	for range cap(w.idle) {
		w.idle <- nil
	}
	return w
}

func (w *workers) borrow() Worker {
	var worker Worker
	select {
	case worker = <-w.idle:
	default:
		select {
		case worker = <-w.idle:
		case <-time.After(workerPatience):
		}
	}
	if worker == nil {
		worker = w.handler.NewWorker()
	}
	return worker
}

// put takes a worker back. One that is more than there should be is dropped.
func (w *workers) put(worker Worker) {
	select {
	case w.idle <- worker:
	default:
	}
}
