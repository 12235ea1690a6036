package service

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails when a test leaves a goroutine behind, but for what a package of Argo CD starts as
// it is loaded.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/patrickmn/go-cache.(*janitor).Run"))
}
