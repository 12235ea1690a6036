package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

// sample is what everything has taken so far: processor seconds by program, requests, bytes.
type sample map[string]float64

// What a sample counts besides the programs.
const (
	apiReads     = "API reads"
	apiWrites    = "API writes"
	etcdRequests = "etcd requests"
	etcdBytes    = "etcd bytes"
	reconciles   = "reconciles"
	setPrefix    = "set "
	gitServer    = "Git server"
)

// since is the growth.
func (s sample) since(before sample) sample {
	out := sample{}
	for k, v := range s {
		out[k] = v - before[k]
	}
	return out
}

// distinctSets counts the ApplicationSets that reconciled.
func (s sample) distinctSets() (n int) {
	for k, v := range s {
		if strings.HasPrefix(k, setPrefix) && v > 0 {
			n++
		}
	}
	return n
}

const ticksPerSecond = 100 // of /proc: USER_HZ, on all of Linux's platforms

// processors adds the processor time of this program's children with that of the children that they
// have waited for, by program.
func (s sample) processors() error {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return err
	}
	for _, file := range stats {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 15 || fields[1] != strconv.Itoa(os.Getpid()) {
			continue
		}
		command, err := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		if err != nil {
			continue
		}
		name, _, _ := strings.Cut(string(command), "\x00")
		ticks := 0.0
		for _, field := range fields[11:15] { // utime, stime, cutime, cstime
			n, err := strconv.ParseFloat(field, 64)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			ticks += n
		}
		s[filepath.Base(name)] += ticks / ticksPerSecond
	}
	// The Git server is in this program; its git commands are children that it has waited for.
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &usage); err != nil {
		return fmt.Errorf("usage of children: %w", err)
	}
	s[gitServer] = float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
	return nil
}

var metricLine = regexp.MustCompile(`^([a-z_]+)(?:\{(.*)\})? (\S+)$`)

// metrics calls a function with each sample of a text.
func metrics(body io.Reader, each func(name, labels string, value float64)) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if m := metricLine.FindStringSubmatch(lines.Text()); m != nil {
			if value, err := strconv.ParseFloat(m[3], 64); err == nil {
				each(m[1], m[2], value)
			}
		}
	}
	return lines.Err()
}

func get(ctx context.Context, url string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

// sample takes one.
func (s *side) sample(ctx context.Context) (sample, error) {
	out := sample{}
	if err := out.processors(); err != nil {
		return nil, err
	}
	server, err := s.kube.Typed.Discovery().RESTClient().Get().AbsPath("/metrics").Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("API server: %w", err)
	}
	defer server.Close()
	err = metrics(server, func(name, labels string, value float64) {
		switch {
		case name == "etcd_request_duration_seconds_count":
			out[etcdRequests] += value
		case name == "apiserver_request_total" && strings.Contains(labels, `verb="WATCH"`):
		case name == "apiserver_request_total" && (strings.Contains(labels, `verb="GET"`) || strings.Contains(labels, `verb="LIST"`)):
			out[apiReads] += value
		case name == "apiserver_request_total":
			out[apiWrites] += value
		}
	})
	if err != nil {
		return nil, err
	}
	etcd, err := get(ctx, s.etcd.URL+"/metrics")
	if err != nil {
		return nil, err
	}
	defer etcd.Close()
	err = metrics(etcd, func(name, _ string, value float64) {
		if name == "etcd_network_client_grpc_received_bytes_total" || name == "etcd_network_client_grpc_sent_bytes_total" {
			out[etcdBytes] += value
		}
	})
	if err != nil {
		return nil, err
	}
	sets, err := get(ctx, s.argo.SetsMetrics)
	if err != nil {
		return nil, err
	}
	defer sets.Close()
	return out, metrics(sets, func(name, labels string, value float64) {
		switch name {
		case "argocd_appset_reconcile_count":
			out[setPrefix+labels] = value
			out[reconciles] += value
		case "workqueue_depth", "controller_runtime_active_workers":
			if strings.Contains(labels, "applicationset") {
				out[queued] += value
			}
		}
	})
}

// queued is what the ApplicationSet controller has to do now.
const queued = "queued"
