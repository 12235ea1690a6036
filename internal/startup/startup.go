// Package startup shortens the start of a program that links much: argosy.
//
// Most of that start is the initialisation of packages that one command seldom needs. A program
// that imports this package starts with two differences:
//
//  1. The first garbage collection is at 32 MB of heap instead of 4 MB. From then on GOGC is as
//     ever. Where the user sets GOGC, nothing differs.
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

	"k8s.io/kubectl/pkg/util/i18n"
)

// firstCollection is a GOGC for a first collection at eight times the usual heap.
const firstCollection = 800

func init() {
	_ = i18n.SetLoadTranslationsFunc(func() error { return nil }) // it refuses nil alone
	if os.Getenv("GOGC") == "" {
		delayCollection()
	}
}

// delayCollection delays the first collection, which sets back what this sets.
func delayCollection() {
	usual := debug.SetGCPercent(firstCollection)
	unreachable := &struct{ self *int }{}
	runtime.AddCleanup(unreachable, func(percent int) { debug.SetGCPercent(percent) }, usual)
}
