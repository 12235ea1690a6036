package vuln_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/hack/release/vuln"
)

func TestOnlyFindingsWithAFunctionCount(t *testing.T) {
	got, err := vuln.Read(strings.NewReader(`
{"config": {}} {"osv": {"id": "GO-1"}}
{"finding": {"osv": "GO-1", "fixed_version": "v2", "trace": [{"module": "m", "version": "v1"}]}}
{"finding": {"osv": "GO-2", "trace": [{"module": "m", "version": "v1", "package": "m/p", "function": "F"}]}}
{"finding": {"osv": "GO-2", "trace": [{"module": "m", "version": "v1", "package": "m/p", "function": "G"}]}}`))
	if err != nil || len(got) != 1 || got[0].String() != "GO-2: m@v1 has m/p.F (no version fixes it)" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestAStatementNeedsAnArgument(t *testing.T) {
	file := filepath.Join(t.TempDir(), "vex.json")
	text := `{"statements": [{"vulnerability": {"name": "GO-1"}, "status": "not_affected", "justification": "vulnerable_code_not_in_execute_path"}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := vuln.Argued(file); err == nil || !strings.Contains(err.Error(), "GO-1: expected") {
		t.Errorf("got %v", err)
	}
}
