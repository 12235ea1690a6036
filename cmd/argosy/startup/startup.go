// Package startup shortens the start of argosy, a program that links much code and ends soon.
//
// Most of its start is the initialisation of packages that a command seldom needs, and most of a
// command's garbage need not be collected. A program imports this package for its effects:
//
//	import _ "github.com/argosy-hub/argosy/cmd/argosy/startup"
//
// The import changes two things:
//
//  1. Between two garbage collections the heap grows by twice the memory in use, but by at least
//     128 MB and at most 1 GiB. From 1 GiB in use on, GOGC is as usual. If the user sets GOGC,
//     nothing changes; GOMEMLIMIT still holds.
//  2. kubectl, which Argo CD's types link, loads no translations of its help texts.
//
// Among packages whose imports are initialised, Go initialises the one with the lowest import path
// first (go.dev/ref/spec#Program_initialization). This package therefore precedes the packages of
// k8s.io, as long as it imports no other package of Argosy.
package startup

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"k8s.io/kubectl/pkg/util/i18n"
)

// Between two collections the heap grows by growth times the memory in use, but by at least
// headroom and at most largest bytes.
const (
	headroom = 128 << 20
	growth   = 2
	largest  = 1 << 30
)

// smallestHeap is the heap size of the first collection at GOGC=100 (runtime,
// gcController.heapMinimum).
const smallestHeap = 4 << 20

func init() {
	_ = i18n.SetLoadTranslationsFunc(func() error { return nil }) // it refuses only nil
	if os.Getenv("GOGC") == "" {
		delayCollections()
	}
}

// delayCollections delays the next collection until the heap has grown by headroom, and each later
// one in the same way.
func delayCollections() { delayCollection(debug.SetGCPercent(100 * headroom / smallestHeap)) }

// delayCollection makes the next collection set GOGC by the memory then in use, at least to usual.
func delayCollection(usual int) {
	unreachable := &struct{ self *int }{}
	runtime.AddCleanup(unreachable, func(usual int) {
		read := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(read)
		debug.SetGCPercent(percentFor(read[0].Value.Uint64(), usual))
		delayCollection(usual)
	}, usual)
}

// percentFor returns the GOGC for a heap with inUse bytes in use, at least usual.
func percentFor(inUse uint64, usual int) int {
	inUse = max(inUse, smallestHeap)
	return max(usual, int(100*min(max(growth*inUse, headroom), largest)/inUse)) //nolint:gosec // at most 3,200
}
