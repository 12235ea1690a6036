package run

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// Caught calls a function, and logs its panic with what the caller was doing. It reports whether
// the function panicked.
func Caught(log *slog.Logger, doing string, do func()) (caught bool) {
	defer func() {
		if p := recover(); p != nil {
			caught = true
			log.Error("panic", "while", doing, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	do()
	return false
}
