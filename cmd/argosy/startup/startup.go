// Package startup shortens the start of argosy, a program that links much code and ends soon. A
// program imports it for its effects:
//
//	import _ "github.com/argosy-hub/argosy/cmd/argosy/startup"
//
// Between two collections the heap grows by four times the memory in use, up to 2 GiB in all; GOGC
// and GOMEMLIMIT change that. And kubectl, which Argo CD's types link, loads no translations of its
// help texts.
//
// Among packages whose imports are initialised, Go initialises the one with the lowest import path
// first (go.dev/ref/spec#Program_initialization). This package therefore precedes the packages of
// k8s.io, as long as it imports no other package of Argosy.
package startup

import (
	"os"
	"runtime/debug"

	"k8s.io/kubectl/pkg/util/i18n"
)

func init() {
	_ = i18n.SetLoadTranslationsFunc(func() error { return nil }) // it refuses only nil
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(2 << 30)
	}
}
