// Package cases tells property tests how many generated cases to try.
//
// `make test` tries a few of each kind in seconds. `make test CASES=20` tries twenty times as
// many. Run it before a release, and after a change to the code that the properties describe.
package cases

import (
	"fmt"
	"os"
	"strconv"
	"testing"
)

// Variable is the environment variable with the factor.
const Variable = "ARGOSY_CASES"

// Times returns n times the factor; with go test -short it returns n.
func Times(n int) int {
	text := os.Getenv(Variable)
	if text == "" || testing.Short() {
		return n
	}
	factor, err := strconv.Atoi(text)
	if err != nil || factor < 1 {
		panic(fmt.Sprintf("%s=%s: expected a number of at least 1", Variable, text)) //nolint:forbidigo // the tests' own setting
	}
	return n * factor
}
