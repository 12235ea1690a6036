// Package gitcmd runs git as if nobody had ever configured it.
//
//  1. Of the environment git sees PATH and TMPDIR alone: no GIT_ variables, no configuration of
//     system and user, no proxies, no prompts. Its messages are in English.
//  2. A command that takes longer than two minutes is ended.
//  3. An error has the command, the folder and what git said last.
package gitcmd

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const limit = 2 * time.Minute

// Env is the environment of all git commands (1). Home should be a folder without a Git
// configuration.
func Env(home string) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
	}
	if dir := os.Getenv("TMPDIR"); dir != "" {
		env = append(env, "TMPDIR="+dir)
	}
	return env
}

// Run runs git in a folder and returns what it printed.
func Run(ctx context.Context, dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = dir, Env(dir)
	// Git's children, such as git-remote-http, end with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		if said := strings.TrimSpace(stderr.String()); said != "" {
			err = fmt.Errorf("%w: %s", err, said[max(0, len(said)-2000):])
		}
		return "", fmt.Errorf("git %s in %s: %w", strings.Join(args, " "), dir, err)
	}
	return stdout.String(), nil
}
