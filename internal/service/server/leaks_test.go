package server_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails when a test leaves a goroutine behind. Parallel tests mostly wait.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
