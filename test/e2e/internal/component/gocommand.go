package component

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// heartbeat is how often a build that takes long says that it goes on.
const heartbeat = 30 * time.Second

// shownLines is how much of a failed build's output its error has; go tells the cause last.
const shownLines = 20

// goBuild runs go build, saying now and then that it goes on.
func (b *builder) goBuild(ctx context.Context, dir string, args []string, title string) error {
	began, ticker := time.Now(), time.NewTicker(heartbeat)
	defer ticker.Stop()
	var output bytes.Buffer
	ended := make(chan error, 1)
	go func() { ended <- run(goCommand(ctx, dir, args, &output, &output)) }()
	for {
		select {
		case <-ticker.C:
			b.progress(fmt.Sprintf("building %s: %s", title, since(began)))
		case err := <-ended:
			if err != nil {
				return failure(args, dir, err, output.String(), b.cache)
			}
			return nil
		}
	}
}

// goOutput is what a go command prints.
func goOutput(ctx context.Context, dir string, args ...string) ([]byte, error) {
	var output, errs bytes.Buffer
	if err := run(goCommand(ctx, dir, args, &output, &errs)); err != nil {
		return nil, failure(args, dir, err, errs.String(), "")
	}
	return output.Bytes(), nil
}

// goCommand in an environment in which a component comes out the same for everyone. Where the
// context ends, so does the process group: go build's compilers as well.
func goCommand(ctx context.Context, dir string, args []string, stdout, stderr *bytes.Buffer) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, stdout, stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "GOTOOLCHAIN=auto", "GOWORK=off", "GOOS=", "GOARCH=")
	cmd.SysProcAttr = attributes()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// run keeps its thread while the command runs: Linux sends Pdeathsig when the thread that started a
// process ends, not the process (prctl(2)).
func run(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return cmd.Run()
}

func failure(args []string, dir string, err error, output, cache string) error {
	lines := strings.Split(strings.TrimRight(output, "\n"), "\n")
	if extra := len(lines) - shownLines; extra > 0 {
		lines = append([]string{fmt.Sprintf("... (%d lines before)", extra)}, lines[extra:]...)
	}
	return fmt.Errorf("go %s (in %s): %w\n  %s\nhint: %s",
		quoted(args), dir, err, strings.Join(lines, "\n  "), hint(output, dir, cache))
}

func quoted(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = arg
		if strings.ContainsAny(arg, " {") {
			words[i] = "'" + arg + "'"
		}
	}
	return strings.Join(words, " ")
}

// hints by what go says.
var hints = []struct {
	signs []string
	text  string
}{
	{
		[]string{"no space left on device", "disk quota exceeded"},
		"the disk is full: the first build of all components needs about 15 GB in the directories that `go env GOCACHE GOMODCACHE GOTMPDIR` names, and 1 GB in %[2]s",
	},
	{
		[]string{"signal: killed", "cannot allocate memory", "out of memory"},
		"memory ran out: External Secrets needs 2.5 GB to build; build with fewer at once (component.Options.Jobs)",
	},
	{
		[]string{"requires go >=", "GOTOOLCHAIN=auto"},
		"the installed Go is too old for this component: see its go.mod, and `go version`",
	},
	{
		[]string{"missing go.sum entry", "updates to go.mod needed", "go mod tidy"},
		"go.mod and go.sum do not fit together: run `go mod tidy` in %[1]s",
	},
	{
		[]string{"dial tcp", "no such host", "i/o timeout", "connection refused", "TLS handshake", "x509:", "404 Not Found", "410 Gone", "403 Forbidden", "module lookup disabled"},
		"a module could not be downloaded: check the network and what `go env GOPROXY GONOPROXY GOSUMDB` says; the first build needs a module proxy",
	},
}

func hint(output, dir, cache string) string {
	text := "`go env` tells what go works with; the first build needs a module proxy, 3 GB of memory and 15 GB of disk"
	for _, h := range hints {
		for _, sign := range h.signs {
			if strings.Contains(output, sign) {
				return strings.NewReplacer("%[1]s", dir, "%[2]s", cache).Replace(h.text)
			}
		}
	}
	return text
}
