package process

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	defaultReadyTimeout = time.Minute
	defaultStopTimeout  = 10 * time.Second
	releaseTimeout      = time.Minute

	// maxForward is below what one message takes along of open files: 253 (SCM_MAX_FD, unix(7)).
	maxForward = 250
)

// Spec says what to run. Name and Path are required.
type Spec struct {
	// Name is the process's in messages and the log's; one of a kind among a Group's running
	// processes.
	Name string
	// Path is the program: a file, or a name to be found in PATH.
	Path string
	// Argv0 is the name that the program gets; the default is Path.
	Argv0 string
	Args  []string
	// Env is the whole environment. Only PATH, and GOGC where it is set, are taken from this
	// program's, when Env has none.
	Env []string
	// Dir is the working directory; the default is this program's.
	Dir string

	// Ready is asked until it says nil. Without it, and without ReadyLog, a process is ready once
	// it runs.
	Ready func(ctx context.Context) error
	// ReadyLog is a text that the log must have, since this start, before Ready is asked: for what
	// cannot be asked, as it is in a private network.
	ReadyLog string
	// ReadyTimeout bounds both; the default is a minute.
	ReadyTimeout time.Duration
	// StopTimeout is the time between SIGTERM and SIGKILL; the default is 10 seconds.
	StopTimeout time.Duration

	// Ports are those of 127.0.0.1 that the process will listen on. Naming them is not required:
	// one that is taken is then known before the start, where otherwise Ready might take a
	// stranger's answer for the process's.
	Ports []int

	// Forward, if not nil, puts the process into a private network namespace, in which these ports
	// of 127.0.0.1 are the machine's. None of them can be listened on in there.
	Forward []int
	// Reach are further ports in there, with the machine's ports that they lead to.
	Reach map[int]int
	// Publish are ports of the machine's 127.0.0.1, with the ports in there that they lead to.
	Publish map[int]int
	// Root is the root folder of a process with a private network, as a container has one. Path is
	// the program's in there.
	Root string
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// complete checks the specification and fills in what is left out.
func (s Spec) complete() (Spec, error) {
	if !nameForm.MatchString(s.Name) {
		return s, fmt.Errorf("process name %q: expected letters, digits, dots, dashes and underscores, as it names the log", s.Name)
	}
	if s.Forward == nil && (s.Root != "" || len(s.Reach)+len(s.Publish) > 0) {
		return s, errors.New("a root folder, or ports to reach or publish, without a private network; expected Forward, which may be empty")
	}
	path, err := exec.LookPath(filepath.Join(s.Root, s.Path))
	if s.Root == "" {
		path, err = exec.LookPath(s.Path)
	}
	if err != nil {
		return s, fmt.Errorf("find the program: %w", err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return s, fmt.Errorf("find the program: %w", err)
	}
	if s.Argv0 == "" {
		s.Argv0 = s.Path
	}
	if s.Root == "" {
		s.Path = path
	}
	if s.Dir != "" { // os/exec would say that the program is missing
		if _, err := os.Stat(s.Dir); err != nil {
			return s, fmt.Errorf("working directory: %w", err)
		}
	}
	s.Args = slices.Clone(s.Args)
	s.Env = environment(s.Env)
	if s.ReadyTimeout <= 0 {
		s.ReadyTimeout = defaultReadyTimeout
	}
	if s.StopTimeout <= 0 {
		s.StopTimeout = defaultStopTimeout
	}
	s.Reach, s.Publish = maps.Clone(s.Reach), maps.Clone(s.Publish)
	for _, port := range slices.Concat(s.Ports, s.Forward, ends(s.Reach), ends(s.Publish)) {
		if port < 1 || port > 65535 {
			return s, fmt.Errorf("port %d: expected 1 to 65535", port)
		}
	}
	if s.Forward != nil {
		s.Forward = append([]int{}, s.Forward...) // not nil, even if it is empty
		slices.Sort(s.Forward)
		s.Forward = slices.Compact(s.Forward)
		if n := len(s.Forward) + len(s.Reach); n > maxForward {
			return s, fmt.Errorf("%d ports to forward: at most %d", n, maxForward)
		}
		for _, port := range s.Ports {
			if slices.Contains(s.Forward, port) {
				return s, fmt.Errorf("port %d is to be forwarded and cannot be listened on", port)
			}
		}
	}
	return s, nil
}

// ends are both ends of what leads from port to port.
func ends(ports map[int]int) []int {
	return slices.Concat(slices.Collect(maps.Keys(ports)), slices.Collect(maps.Values(ports)))
}

// environment is never nil: os/exec would take that for all of ours.
func environment(given []string) []string {
	env := append([]string{}, given...)
	for _, name := range []string{"PATH", "GOGC"} {
		isGiven := slices.ContainsFunc(given, func(e string) bool { return strings.HasPrefix(e, name+"=") })
		if value, ok := os.LookupEnv(name); ok && !isGiven {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// checkPorts says which port is taken. In a private network only those that are published can be.
func (s Spec) checkPorts(ctx context.Context) error {
	ports := s.Ports
	if s.Forward != nil {
		ports = slices.Sorted(maps.Keys(s.Publish))
	}
	var all []error
	for _, port := range ports {
		if err := canListen(ctx, port); err != nil {
			all = append(all, fmt.Errorf("port %d of 127.0.0.1 is taken by another process: %w", port, err))
		}
	}
	return errors.Join(all...)
}

// awaitPorts waits until no port is taken, for as long as one may still be held by what has been
// killed.
func (s Spec) awaitPorts(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	ticker := time.NewTicker(readyInterval)
	defer ticker.Stop()
	for s.checkPorts(ctx) != nil {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
