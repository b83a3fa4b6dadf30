package loglimit

import (
	"fmt"
	"runtime"
	"strings"
)

// Panic returns what to log of a panic: the type of its value, which may hold a patient's words, or the text of Go's
// own errors, which holds only indices and types; and the callers of the function that recovered, innermost first. skip
// is how many functions that one has called on the way.
func Panic(value any, skip int) (what, stack string) {
	what = fmt.Sprintf("%T", value)
	if e, ok := value.(runtime.Error); ok {
		what = e.Error()
	}
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(skip+3, pcs)])
	var b strings.Builder
	for {
		f, more := frames.Next()
		fmt.Fprintf(&b, "%s %s:%d\n", f.Function, f.File, f.Line)
		if !more {
			return what, b.String()
		}
	}
}
