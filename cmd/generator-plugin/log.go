package main

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/pflag"
)

// logFlags holds the format and the level of the log.
type logFlags struct{ format, level string }

func (l *logFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&l.format, "log-format", "text", "text or json")
	fs.StringVar(&l.level, "log-level", "info", "debug, info, warn or error")
}

func (l *logFlags) validate() error {
	var level slog.Level
	switch {
	case l.format != "text" && l.format != "json":
		return fmt.Errorf("--log-format %q; expected text or json", l.format)
	case level.UnmarshalText([]byte(l.level)) != nil:
		return fmt.Errorf("--log-level %q; expected debug, info, warn or error", l.level)
	}
	return nil
}

func (l *logFlags) logger(w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(l.level)) // validated
	o := &slog.HandlerOptions{Level: level}
	if l.format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}
