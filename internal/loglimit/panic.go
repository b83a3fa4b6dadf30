package loglimit

import (
	"fmt"
	"runtime"
	"strings"
)

// Panic returns what may be logged of a panic: the text of a runtime error, which holds only indices and types, or else
// only the type of the value, which may hold a patient's words; and the stack of the function that recovered, innermost
// call first. skip is the number of calls between that function and Panic.
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
