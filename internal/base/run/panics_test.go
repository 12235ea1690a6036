package run

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestPanicIsLoggedAndEnds(t *testing.T) {
	var text bytes.Buffer
	log := slog.New(slog.NewTextHandler(&text, nil))
	if Caught(log, "adding", func() {}) || text.Len() > 0 {
		t.Errorf("without a panic: %s", &text)
	}
	if !Caught(log, "adding", func() { panic("no such thing") }) {
		t.Error("the panic is not reported")
	}
	for _, want := range []string{"while=adding", `panic="no such thing"`, "panics_test.go"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the log lacks %s: %s", want, &text)
		}
	}
}
