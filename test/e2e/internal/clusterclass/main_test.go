package clusterclass_test

import (
	"os"
	"testing"

	"github.com/argosy-hub/argosy/test/e2e/internal/process"
)

// TestMain lets this program start others in networks of their own.
func TestMain(m *testing.M) {
	process.Init()
	os.Exit(m.Run())
}
