package main

import (
	"fmt"
	"io"
	"os"
)

// openAudit opens the audit log: a file to which lines are appended, "-" for standard output, or
// none. The file need not be closed, as each line is written at once.
func openAudit(name string, stdout io.Writer) (io.Writer, error) {
	switch name {
	case "":
		return nil, nil
	case "-":
		return stdout, nil
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--audit-log: %w", err)
	}
	return f, nil
}
