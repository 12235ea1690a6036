// Package startup shortens the start of a program that links much, and that ends soon: argosy.
//
// Most of that start is the initialisation of packages that one command seldom needs, and most of
// a command's garbage never has to be collected. A program that imports this package differs in two
// ways:
//
//  1. Between two garbage collections the heap grows by twice what is in use, by 128 MB at least
//     and by 1 GiB at most, instead of by 4 MB or by what is in use. From 1 GiB in use on, GOGC is
//     as ever. Where the user sets GOGC, nothing differs; GOMEMLIMIT holds, too.
//  2. kubectl, which Argo CD's types link, loads no translations of its help texts.
//
// Go initialises the package with the lowest import path among those whose imports are
// initialised (go.dev/ref/spec#Program_initialization). This one therefore precedes those of
// k8s.io, and imports none of ours.
package startup

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"k8s.io/kubectl/pkg/util/i18n"
)

// The heap grows between two collections by growth times what is in use, which is at least headroom
// and at most largest bytes.
const (
	headroom = 128 << 20
	growth   = 2
	largest  = 1 << 30
)

// smallestHeap is the heap for which GOGC says that it may double before the first collection
// (runtime, gcController.heapMinimum).
const smallestHeap = 4 << 20

func init() {
	_ = i18n.SetLoadTranslationsFunc(func() error { return nil }) // it refuses nil alone
	if os.Getenv("GOGC") == "" {
		delayCollections()
	}
}

// delayCollections delays the next collection until the heap has grown by headroom, and those after
// it alike.
func delayCollections() { delayCollection(debug.SetGCPercent(100 * headroom / smallestHeap)) }

// delayCollection has the next collection set GOGC by what is then in use, at least to usual.
func delayCollection(usual int) {
	unreachable := &struct{ self *int }{}
	runtime.AddCleanup(unreachable, func(usual int) {
		read := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(read)
		debug.SetGCPercent(percentFor(read[0].Value.Uint64(), usual))
		delayCollection(usual)
	}, usual)
}

// percentFor is the GOGC with which a heap of bytes in use grows by that, at least usual.
func percentFor(inUse uint64, usual int) int {
	inUse = max(inUse, smallestHeap)
	return max(usual, int(100*min(max(growth*inUse, headroom), largest)/inUse)) //nolint:gosec // at most 3,200
}
