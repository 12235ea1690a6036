package main

import (
	"fmt"
	"io"
	"os"

	"github.com/argosy-hub/argosy/internal/audit"
)

// openAudit opens the audit log: a file to which lines are added, "-" for standard output, or none.
// The process ends with the file open: each line is written at once.
func openAudit(name string, stdout io.Writer) (*audit.Log, error) {
	switch name {
	case "":
		return nil, nil
	case "-":
		return audit.New(stdout), nil
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--audit-log: %w", err)
	}
	return audit.New(f), nil
}
